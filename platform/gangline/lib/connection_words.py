"""What tests of connections found, as predicates of `wording`."""

from collections.abc import Mapping

CONNECTIONS: Mapping[str, str] = {
    "connection:repository": "The repository answers",
    "connection:branch": "The repository answers and has {value}",
    "connection:revision": "The repository answers and has {value}",
    "connection:commit": (
        "The repository answers. Whether it has the commit {value} shows only when it is fetched"
    ),
    "connection:empty": "The repository answers, but it is empty",
    "connection:bucket": "The bucket {value} can be read",
    "connection:bucket_empty": "The bucket {value} can be read, but it is empty",
    "connection:registry": "{server} accepts the login",
    "connection:issuer": "{server} is a working identity provider",
    "connection:issuer_no_pkce": (
        "{server} is an identity provider, but does not announce PKCE with S256"
    ),
    "connection:other_issuer": "{server} reports the issuer {value}",
    "connection:other_issuer.remedy": "Enter exactly that as the issuer, if it is yours.",
    "connection:no_provider": "{server} does not answer as an identity provider does",
    "connection:no_provider.remedy": "Check the issuer, with its path.",
    "connection:no_signature": "{server} does not sign with a private key, which is required",
    "connection:no_keys": "{server} publishes no signing key",
    "connection:no_login": (
        "{server} answers without asking for a login, so the credential was not tested"
    ),
    "connection:refused": "{server} rejected the credential",
    "connection:refused.remedy": "Check that it is correct and has read access.",
    "connection:login": "{server} requires a credential",
    "connection:login.remedy": "Choose one with read access.",
    "connection:key_needed": "{server} is reached by SSH, which needs an SSH key",
    "connection:key_needed.remedy": "Choose a credential with one, or give an https address.",
    "connection:key_unread": (
        "The private key cannot be used: it is not a private key, or has a passphrase"
    ),
    "connection:key_unread.remedy": "Use one without a passphrase.",
    "connection:no_repository": (
        "{server} answers, but the repository does not exist or this login has no access to it"
    ),
    "connection:no_branch": "The repository answers but has no branch or tag {value}",
    "connection:no_revision": "The repository answers but has no branch, tag or commit {value}",
    "connection:no_bucket": "{server} answers but has no bucket {value}",
    "connection:no_git": "{server} does not answer as a Git server does",
    "connection:no_s3": "{server} does not answer as an S3 service does",
    "connection:no_registry": "{server} does not answer as a registry does",
    "connection:moved": "{server} redirects to another server, which is not followed",
    "connection:moved.remedy": "Use that address instead.",
    "connection:status": "{server} answered {status}",
    "connection:certificate": "The certificate of {server} cannot be trusted: {why}",
    "connection:tls": "{server} does not speak TLS as expected",
    "connection:name": "The name {server} cannot be resolved",
    "connection:name.remedy": "Check the address.",
    "connection:address": "{server} has an address that Gangline does not connect to",
    "connection:closed": "{server} refuses connections: nothing listens there",
    "connection:late": "{server} did not answer in time",
    "connection:late_all": "There was no answer within {seconds} s",
    "connection:lost": "The connection to {server} was lost",
    "connection:large": "{server} sent a larger answer than Gangline accepts",
    "connection:broke": "The test failed with an internal error. See the server log",
    "connection:busy": "Another test of yours is still running or has just finished",
    "connection:busy.remedy": "Try again in a few seconds.",
    "connection:values": "{said}",
    "connection:scope": "Choose a scope first: it decides which credentials can be used",
    "connection:unheld": "Gangline has no credential {value} in this scope",
    "connection:unheld.remedy": "Choose one from the list; a Secret of a cluster cannot be tested.",
    "connection:no_right": "You may not use credentials in {scope}, so nothing was tested",
    "connection:no_key": "The credential {value} has no key {key}",
    "connection:sealed": "{said}",
}
