"""A throw-away app: the least that a new resource takes."""
