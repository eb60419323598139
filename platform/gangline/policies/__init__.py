"""Policy documents, the effective policy of a project, and the engine that applies it."""
