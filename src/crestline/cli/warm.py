"""``crestline warm``: all kernels compiled ahead, for images, clusters and shared installations."""

from __future__ import annotations

from typing import Annotated

import typer

from crestline.cli.errors import Misuse

#: As in ``runtime.rehearsal``, which takes a while to import.
_FAMILIES = ("steps", "arrivals", "uncertain", "incomplete", "shared")


def _known(begun: str) -> list[str]:
    return [name for name in _FAMILIES if name.startswith(begun)]


def warm(
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family", metavar="NAME", autocompletion=_known,
            help=f"Only the kernels of one family: {', '.join(_FAMILIES)}. Repeat it for several.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Compile the kernels now, so that no query has to wait for it.

    Queries compile what they need by themselves, once: small inputs are
    answered without, large ones wait some seconds. This does it ahead, on all
    cores, for container images, for the machines of a cluster and for
    installations that users share: whoever may write into the installed
    package keeps the code there, for everybody; others keep it in their own
    cache. CRESTLINE_CACHE_DIR names another folder.

    \\b
    [bold]Examples[/]
      crestline warm
      crestline warm --family steps --family uncertain
      CRESTLINE_CACHE_DIR=/opt/crestline crestline warm
    """
    asked = family or list(_FAMILIES)
    for name in asked:
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
    for name in dict.fromkeys(asked):
        number = warm_families([name], tell)[name]
        print(f"{name:<11} {f'{number} kernels compiled' if number else 'ready'}", flush=True)
    print(f"kept in {folder}")


__all__ = ["warm"]
