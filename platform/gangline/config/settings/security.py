"""Keys, cookies, sessions, sign-in protection (R16)."""

from urllib.parse import urlsplit

from gangline.config.env import env

_https = env().origin.startswith("https://")
_public_host = urlsplit(env().origin).hostname or "127.0.0.1"
_suffix = "" if _https else f"_{env().port}"

SECRET_KEY = env().key()
ALLOWED_HOSTS = [*env().allowed_hosts] or [_public_host, "127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = env().origins
CSRF_FAILURE_VIEW = "gangline.web.errors.csrf_failure"
SESSION_ENGINE = "django.contrib.sessions.backends.db"
# A cookie name per port: two embedded installations on one machine must not sign each other out.
SESSION_COOKIE_NAME = "__Host-gangline_sid" if _https else f"gangline_sid{_suffix}"
# A cookie of its own: in the session it would make a row of every visit of a program.
CSRF_COOKIE_NAME = "__Host-gangline_csrf" if _https else f"gangline_csrf{_suffix}"
CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 63_072_000 if _https else 0
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "gangline.accounts.passwords.LengthOfSettings"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "gangline.accounts.token_sessions.ClientSecretBackend",
]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 5 / 60
# Who is locked out does not prolong it: programs try what is right, again and again.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_HTTP_RESPONSE_CODE = 429
AXES_LOCKOUT_CALLABLE = "gangline.accounts.views.locked_out"
AXES_VERBOSE = False
AXES_HANDLER = "gangline.accounts.services.SignInLimits"
AXES_ENABLE_ACCESS_FAILURE_LOG = True
AXES_DISABLE_ACCESS_LOG = True  # the audit log has every sign-in

DATA_UPLOAD_MAX_MEMORY_SIZE = 1 << 20
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000
DATA_UPLOAD_MAX_NUMBER_FILES = 1  # a kubeconfig
