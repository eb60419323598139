"""What all REST endpoints share: authentication, problems, paging, OpenAPI."""
