"""Define the options for an execution provider of ONNX Runtime."""

from __future__ import annotations

from typing import Any

import click

from trtlint.commands.arguments import bundle
from trtlint.knowledge.providers import PROVIDERS
from trtlint.policy.options import EpOptions, as_option, ep_options_of

ep_options = bundle(
    click.option(
        "--ep",
        type=click.Choice(PROVIDERS),
        help="Show how this execution provider of ONNX Runtime partitions the model.",
    ),
    click.option(
        "--ep-options",
        multiple=True,
        metavar="KEY=VALUE",
        help="Options of the provider, such as trt_min_subgraph_size=5; repeatable.",
    ),
)


def take_ep_options(options: dict[str, Any]) -> EpOptions:
    """Take the execution provider options out of ``options``, and return their values.

    Raises:
        SettingError: provider options are given without a provider, or an option is not ``KEY=VALUE``.
    """
    return ep_options_of(options.pop("ep"), tuple(options.pop("ep_options")), as_option)
