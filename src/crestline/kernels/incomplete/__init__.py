"""Kernels for incomplete streams."""
