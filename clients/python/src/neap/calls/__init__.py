"""What each route of the API takes, under its name in docs/openapi.json."""
