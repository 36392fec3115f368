"""Kernels for uncertain streams."""
