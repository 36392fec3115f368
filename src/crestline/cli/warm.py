"""``crestline warm``: compile all kernels ahead, for images, clusters and shared installations."""

from __future__ import annotations

from typing import Annotated

import typer

from crestline.cli.errors import Misuse

#: The families of ``runtime.rehearsal``, which is slow to import.
_FAMILIES = ("steps", "arrivals", "uncertain", "incomplete", "shared")


def _completed(beginning: str) -> list[str]:
    return [name for name in _FAMILIES if name.startswith(beginning)]


def warm(
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family", metavar="NAME", autocompletion=_completed,
            help=f"Only the kernels of one family: {', '.join(_FAMILIES)}. Repeat it for several.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Compile the kernels now, so that no query has to wait for it.

    Without this, queries compile what they need, once. Small inputs are
    answered without compiling; large ones wait some seconds. This command
    compiles ahead, on all cores, for container images, for the machines of a
    cluster, and for installations that users share. A user who may write into
    the installed package keeps the code there, for everybody. Other users keep
    it in their own cache. CRESTLINE_CACHE_DIR names another folder.

    \b
    [bold]Examples[/]
      crestline warm
      crestline warm --family steps --family uncertain
      CRESTLINE_CACHE_DIR=/opt/crestline crestline warm
    """
    families = family or list(_FAMILIES)
    for name in families:
        if name not in _FAMILIES:
            raise Misuse(f"there is no family {name!r}: choose from {', '.join(_FAMILIES)}")
    from crestline.kernels.jit import store
    from crestline.kernels.jit.tiers import tell
    from crestline.runtime.rehearsal import warm as warm_families

    folder = store.folder()
    if folder is None:
        raise Misuse(
            f"compiled kernels cannot be kept: none of {', '.join(store.folders())} can be written:"
            " name a folder in CRESTLINE_CACHE_DIR"
        )
    for name in dict.fromkeys(families):
        number = warm_families([name], tell)[name]
        print(f"{name:<11} {f'{number} kernels compiled' if number else 'ready'}", flush=True)
    print(f"kept in {folder}")


__all__ = ["warm"]
