"""One machinery for whatever is listed, shown, edited and served."""
