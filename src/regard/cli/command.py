"""A command whose usage line shows its arguments as they are documented: MODEL, [TEXT]."""

from typing import Any

from typer.core import TyperCommand

__all__ = ["Command"]


class Command(TyperCommand):
    """A command of typer's. Versions of typer put braces and brackets of their own around arguments."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind the command's name in its usage line."""
        arguments = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        return ["[OPTIONS]", *(each.metavar or str(each.name).upper() for each in arguments)]
