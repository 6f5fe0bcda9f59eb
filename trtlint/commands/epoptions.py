"""The options that name a provider of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import click

from trtlint.commands.arguments import bundle
from trtlint.knowledge.providers import PROVIDERS
from trtlint.policy.options import EpOptions

ep_options = bundle(
    click.option(
        "--ep",
        type=click.Choice(PROVIDERS),
        help="Show the parts into which this provider of ONNX Runtime divides the model.",
    ),
    click.option(
        "--ep-options",
        multiple=True,
        metavar="KEY=VALUE ...",
        help="Options of the provider, as in trt_min_subgraph_size=5; repeatable.",
    ),
)


def take_ep_options(options: dict[str, Any]) -> EpOptions:
    """Take the options about a provider out of all options.

    Raises:
        click.UsageError: there are provider options and no provider.
    """
    provider, texts = options.pop("ep"), tuple(options.pop("ep_options"))
    if texts and provider is None:
        raise click.UsageError(f"--ep-options needs --ep: {' or '.join(PROVIDERS)}")
    return EpOptions(provider, texts)
