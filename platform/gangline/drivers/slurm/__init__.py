"""Slurm clusters: jobs of sbatch, by the commands of a login node."""
