"""What runs beside every local process: stand-alone, standard library only."""
