"""The problem: kernels, losses, step sizes, steps and what scores mean."""
