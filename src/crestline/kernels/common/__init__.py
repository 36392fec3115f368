"""Kernels that several families use."""
