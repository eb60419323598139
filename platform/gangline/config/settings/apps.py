"""Installed applications, templates, static files and what else does not differ by installation."""

from gangline.config.env import env
from gangline.lib.paths import RESOURCES

DEBUG = env().debug
GANGLINE = env()
ROOT_URLCONF = "gangline.config.urls"
ASGI_APPLICATION = "gangline.config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
FORM_RENDERER = "gangline.forms.renderer.GanglineRenderer"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
APPEND_SLASH = False

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "template_partials",
    "axes",
    "gangline.db",
    "gangline.settings",
    "gangline.accounts",
    "gangline.scopes",
    "gangline.audit",
    "gangline.web",
    "gangline.live",
    "gangline.api",
    "gangline.resources",
    "gangline.administration",
    "gangline.clusters",
    "gangline.organization",
    "gangline.access",
    "gangline.people",
    "gangline.programs",
    "gangline.identity",
    "gangline.views",
    "gangline.policies",
    "gangline.forms",
    "gangline.tables",
    "gangline.supervisor",
    "assets",
    "workloads",
]
MIDDLEWARE = [
    "gangline.web.middleware.SecurityHeaders",
    "gangline.web.middleware.RequestLimits",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "gangline.db.once.OncePerRequest",
    "gangline.accounts.middleware.CurrentSession",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "gangline.web.errors.AccessErrors",
    "axes.middleware.AxesMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "gangline.web.navigation.context",
            ],
            "builtins": [
                "gangline.web.templatetags.gangline",
                "gangline.forms.templatetags.fields",
            ],
        },
    }
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [RESOURCES / "static"]
STATIC_ROOT = env().data_dir / "static"
# Embedded: straight from their folders, always asked anew; production: collected and hashed.
SERVESTATIC_USE_FINDERS = SERVESTATIC_AUTOREFRESH = env().mode == "embedded"
SERVESTATIC_MAX_AGE = 0 if env().mode == "embedded" else 60
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "gangline.web.static.Storage"},
}
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "gangline.api.errors.exception_handler",
    # No answer to OPTIONS: the description of the API is at /api/v1/openapi.yaml.
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["gangline.api.rendering.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "gangline.api.rendering.AlwaysJSON",
    "DEFAULT_PARSER_CLASSES": ["gangline.api.parsing.StrictJSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "gangline.api.authentication.TokenAuthentication",
        "gangline.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": [
        "gangline.api.throttling.OfToken",
        "gangline.api.throttling.OfPerson",
    ],
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Gangline",
    "DESCRIPTION": "Launch, govern and watch distributed training workloads.",
    "VERSION": "v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "OAS_VERSION": "3.1.0",
    # What is only read need not be in every answer.
    "COMPONENT_NO_READ_ONLY_REQUIRED": True,
    "SCHEMA_PATH_PREFIX": "/api/v[0-9]",
    "POSTPROCESSING_HOOKS": [
        "gangline.api.schema.add_components",
        "gangline.config.api_examples.add_examples",
    ],
}
