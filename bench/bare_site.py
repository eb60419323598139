"""The least that Django can be: settings and application of one page at /login, served alike."""

SECRET_KEY = "bench"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "bench.bare_urls"
INSTALLED_APPS: list[str] = []
MIDDLEWARE: list[str] = []


def __getattr__(name: str) -> object:
    """The application, made only when the server asks: Django reads this module as settings."""
    if name != "application":
        raise AttributeError(name)
    from django.core.asgi import get_asgi_application

    return get_asgi_application()
