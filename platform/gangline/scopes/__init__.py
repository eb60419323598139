"""The scope tree: what policies, access rules and assets are given in."""
