"""Why somebody could not sign in with their company's account, in words."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "unreachable": "{name} does not answer. Try again, or ask an administrator.",
    "answer": "{name} did not answer as an identity provider does. Ask an administrator.",
    "issuer": "{name} says that it is another provider. Ask an administrator to check the issuer.",
    "provider": "{name} could not sign you in. Try again, or ask an administrator.",
    "denied": "{name} did not sign you in.",
    "state": "This sign-in was begun in another browser, too long ago, or has ended. Begin again.",
    "code": "{name} does not know this sign-in any more. Begin again.",
    "client": "{name} does not accept Gangline’s client ID or secret. Ask an administrator.",
    "token": "What {name} said about you could not be verified. Ask an administrator.",
    "sealed": "Gangline cannot open its client secret for {name}. Ask an administrator.",
    "deactivated": "Your account is deactivated. Ask an administrator.",
    "uninvited": "You have no account here yet. Ask an administrator to invite you.",
    "email_taken": (
        "Somebody signs in here with your email in another way. If it is you, sign in that way and"
        " connect {name} on your account page."
    ),
    "name_taken": (
        "There is a user of your name already. If it is you, sign in as before and connect {name}"
        " on your account page. Otherwise ask an administrator."
    ),
    "no_name": "{name} told no name that can be a user name here. Ask an administrator.",
    "connected": "This account, or another one of {name}, is connected already.",
}
"""By the code of `openid.Failed`. What the provider itself said stands in the audit log alone."""
