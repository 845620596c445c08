"""``evolve key``."""

from __future__ import annotations

from pathlib import Path

import click

from evolve.cli.output import emit, json_option


@click.group("key", short_help="Make and show keys that evidence is signed with.")
def command() -> None:
    """Make and show keys (Ed25519) that evidence is signed with.

    EVOLVE_SIGNING_KEY names the file of a private key, or EVOLVE_SIGNING_KEY_PEM holds it: with either, evidence is
    signed when it is written. signatures: in policy.yaml names the public keys that are trusted.

    Example: evolve key new --out ~/.config/evolve-signing.pem
    """


@command.command("new")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A new file, outside of every repository.")
@json_option
def make(out: Path, as_json: bool) -> None:
    """Make a private key that its owner alone may read, and print its public half."""
    from evolve.promote.keys import KEY_FILE_VARIABLE, new_key

    key = new_key(out)
    value = {"path": str(out), "public_key": key.public_text, "keyid": key.keyid}
    text = f"{out}: a new private key; whoever has it can sign for you\npublic key: {key.public_text}\n"
    text += f"sign with it: export {KEY_FILE_VARIABLE}={out.absolute()}"
    emit(value, text, as_json=as_json)


@command.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def show(file: Path, as_json: bool) -> None:
    """Print the public half of a private key, and its key id."""
    from evolve.promote.keys import read_key
    from evolve.records.public_key import public_key_pem

    key = read_key(file, str(file))
    pem = public_key_pem(key.public)
    value = {"public_key": key.public_text, "keyid": key.keyid, "pem": pem}
    emit(value, f"public key: {key.public_text}\nkey id: {key.keyid}\n{pem.rstrip()}", as_json=as_json)
