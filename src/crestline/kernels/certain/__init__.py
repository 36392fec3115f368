"""Kernels for certain streams."""
