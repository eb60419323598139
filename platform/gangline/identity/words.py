"""Why somebody could not sign in with their company's account, in words."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "unreachable": "{name} does not answer. Try again, or ask an administrator.",
    "answer": "{name} did not answer as an identity provider does. Ask an administrator.",
    "issuer": (
        "{name} identifies itself as another provider. Ask an administrator to check the issuer."
    ),
    "provider": "{name} could not sign you in. Try again, or ask an administrator.",
    "denied": "{name} did not sign you in.",
    "state": "This sign-in was started in another browser or has expired. Start again.",
    "code": "This sign-in is no longer valid at {name}. Start again.",
    "client": "{name} rejected Gangline’s client ID or secret. Ask an administrator.",
    "token": "The answer of {name} could not be verified. Ask an administrator.",
    "sealed": "Gangline cannot decrypt its client secret for {name}. Ask an administrator.",
    "deactivated": "Your account is deactivated. Ask an administrator.",
    "uninvited": "You have no account here yet. Ask an administrator to invite you.",
    "email_taken": (
        "Another account has your email address. If it is yours, sign in to it and connect {name} "
        "on your account page."
    ),
    "name_taken": (
        "Your user name is already taken. If the account is yours, sign in to it and connect "
        "{name} on your account page. Otherwise ask an administrator."
    ),
    "no_name": "{name} did not send a valid user name. Ask an administrator.",
    "connected": "This account, or another one of {name}, is connected already.",
}
"""By the code of `openid.Failed`. What the provider itself said stands in the audit log alone."""
