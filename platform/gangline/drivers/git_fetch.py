"""How a repository is fetched before a command starts, alike wherever it runs."""

from collections.abc import Mapping

SSH_KEY = "ssh-key"

GIT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "http:https:ssh",
}
"""Variables: it asks nobody, and follows no address to another kind of transport."""
CLONE = """\
repository=$1 branch=$2 revision=$3 folder=$4
rm -rf "$folder"/..?* "$folder"/.[!.]* "$folder"/*
if [ -n "${SSH_KEY-}" ]; then
  printf '%s\\n' "$SSH_KEY" > "$HOME/key"
  chmod 600 "$HOME/key"
  export GIT_SSH_COMMAND="ssh -i $HOME/key -o StrictHostKeyChecking=accept-new -o BatchMode=yes"
fi
if [ -n "${PASSWORD-}" ]; then
  git config --global credential.helper \\
    '!f() { echo "username=$USERNAME"; echo "password=$PASSWORD"; }; f'
fi
if [ -n "$revision" ]; then
  git clone --no-checkout -- "$repository" "$folder"
  if git -C "$folder" rev-parse -q --verify "refs/remotes/origin/$revision" > /dev/null; then
    revision="refs/remotes/origin/$revision"
  fi
  git -C "$folder" checkout --detach "$revision" --
elif [ -n "$branch" ]; then
  git clone --depth 1 --branch "$branch" -- "$repository" "$folder"
else
  git clone --depth 1 -- "$repository" "$folder"
fi
"""
"""For ``sh -ec``: address, branch, revision and folder. The login is in variables."""


def login_of(secret: Mapping[str, str]) -> list[list[str]]:
    """Variable, Secret and key of each part of the login; none for a public repository."""
    name = secret.get("name")
    if not name:
        return []
    if secret.get("authenticationMethod") == SSH_KEY:
        return [["SSH_KEY", name, "ssh"]]
    return [
        ["USERNAME", name, secret.get("secretKeyOfUser") or "User"],
        ["PASSWORD", name, secret.get("secretKeyOfPassword") or "Password"],
    ]
