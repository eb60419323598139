"""Channel layer, Celery and logging: what differs between one process and many."""

from typing import Any

from gangline.config.env import env

_EMBEDDED = env().mode == "embedded"

CHANNEL_LAYERS = (
    {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    if _EMBEDDED or not env().redis_url
    else {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {
                "hosts": [
                    {
                        "address": env().redis_url,
                        # Longer than the layer's own wait of 5 s for a message. Who sends has
                        # a limit of its own, in `gangline.live.notify`.
                        "socket_timeout": 8,
                        "socket_connect_timeout": 1,
                        "socket_keepalive": True,
                    }
                ],
                "prefix": "gangline-live",
                "capacity": 1000,
            },
        }
    }
)

# Counts of requests (`gangline.api.throttling`) and nothing that must not be lost.
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    }
    if _EMBEDDED or not env().redis_url
    else {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": env().redis_url,
        "KEY_PREFIX": "gangline-cache",
        "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
    }
}

CELERY_BROKER_URL = env().redis_url or "memory://"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Pass budget 30 s < soft 35 < hard 40 < lease 45 s, far below the visibility time-out.
CELERY_TASK_SOFT_TIME_LIMIT = 35
CELERY_TASK_TIME_LIMIT = 40
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_DEFAULT_QUEUE = "gangline.v1"
CELERY_WORKER_MAX_TASKS_PER_CHILD = 500
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 300,
    "socket_timeout": 1,
    "socket_connect_timeout": 1,
    "socket_keepalive": True,
    "health_check_interval": 15,
    "global_keyprefix": "gangline-work:",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "gangline.lib.logs.JsonLines"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "gangline": {"level": "INFO"},
        "workloads": {"level": "INFO"},
        # Whoever asked was told why it was refused: nothing for the operator to do.
        "django.request": {"level": "ERROR"},
    },
}
