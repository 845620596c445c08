"""The ``evolve`` command: its subcommands, loaded when they are called, and its exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

import evolve
from evolve.cli.output import print_error
from evolve.errors import EnvironmentFault, EvolveError, ExitCode, InputError
from evolve.interrupts import install

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("init", "Make a workspace of this repository; nothing is overwritten."),
    "doctor": ("doctor", "Look whether this machine can do what the workspace asks of it."),
    "models": ("models", "List, install and verify model weights."),
    "check": ("check", "Test the workspace: skills, tasks, references and policy."),
    "corpus": ("corpus", "List, show, make, import and export tasks."),
    "rehearse": ("rehearse", "Run every task with a scripted agent, free of charge, as paid cells are run."),
    "generation": ("generation", "Propose, screen, confirm, decide and, with --apply, commit."),
    "schedule": ("schedule", "Print a ready weekly job."),
    "propose": ("propose", "Make candidate overlays of a skill."),
    "measure": ("measure", "Measure arms beside one another on train or selection tasks; decides nothing."),
    "compare": ("compare", "Set two sweeps or two imported scorecards beside one another; decides nothing."),
    "benchmark": ("benchmark", "Measure an overlay against the incumbent on the sealed tasks, and decide."),
    "gate": ("gate", "Decide again on a measured overlay, offline, under any policy."),
    "simulate": ("simulate", "Show how often the gate errs, in worlds whose truth is known."),
    "power": ("power", "Show what the next look could prove, with how many tasks and runs, at what price."),
    "ledger": ("ledger", "Show the looks at sealed tasks, and what level is left for the next."),
    "key": ("key", "Make and show keys that evidence is signed with."),
    "sign": ("sign", "Sign evidence that holds; several may."),
    "promote": ("promote", "Commit a proven overlay with its evidence."),
    "rollback": ("rollback", "Take a promotion back, with the reason."),
    "status": ("status", "Show what is running, what was interrupted, and what to do next."),
    "watch": ("watch", "Watch a running sweep or generation from another terminal."),
    "resume": ("resume", "Finish an interrupted generation or sweep."),
    "rescore": ("rescore", "Run today's checks over the kept replies of a sweep; no model is called."),
    "report": ("report", "Show a generation, a sweep or a promotion: Markdown, HTML, JSON, CSV or JUnit."),
    "view": ("view", "Look at every sweep, generation and promotion in a browser, live."),
    "scorecard": ("scorecard", "Show what cells took, cell by cell and arm by arm: table, CSV, JSON, Markdown."),
    "export": ("export", "Export the cells of sweeps and promotions as one table: CSV, JSON or Parquet."),
    "audit": ("audit", "Recompute what promotions claim, from a clone alone."),
    "schema": ("schema", "Print the JSON Schema of a file format."),
    "completion": ("completion", "Print the completion script of a shell."),
}


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"evolve.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a subcommand; a slip of the pen gets a suggestion."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else " See: evolve --help"
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a subcommand; click would print an empty line for an interrupt."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A first run, in a repository of your own: evolve init, evolve check, evolve generation.",
)
@click.version_option(evolve.__version__, prog_name="evolve")
def cli() -> None:
    """Improve the skills that coding agents read, and prove each improvement before it is committed.

    Exit codes: 0 done (promoted or not), 1 broken environment or unusable evidence, 2 usage or invalid input,
    3 budget exhausted, 4 audit found a fault, 130 interrupted.
    """


class Interrupted(Exception):
    """An interrupt, before click makes something of it."""


def run(argv: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with one of the codes."""
    install()
    sys.exit(int(main(sys.argv[1:] if argv is None else argv)))


def main(argv: list[str]) -> int:
    """Run the command line and return the exit code."""
    as_json = "--json" in argv
    try:
        result: Any = cli.main(args=argv, prog_name="evolve", standalone_mode=False)
        return result if isinstance(result, int) else ExitCode.DONE
    except click.UsageError as error:
        hint = f"see: {error.ctx.command_path} --help" if error.ctx else None
        print_error(InputError(error.format_message(), hint=hint, code="usage"), as_json=as_json)
        return ExitCode.USAGE
    except click.ClickException as error:
        print_error(InputError(error.format_message(), code="usage"), as_json=as_json)
        return ExitCode.USAGE
    except EvolveError as error:
        print_error(error, as_json=as_json)
        return error.exit_code
    except (Interrupted, KeyboardInterrupt, click.Abort):
        interrupted = EnvironmentFault(
            "interrupted; what was paid for is kept", hint="go on with: evolve resume", code="interrupted"
        )
        print_error(interrupted, as_json=as_json)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:
        if os.environ.get("EVOLVE_DEBUG"):
            raise
        print_error(_unexpected(error), as_json=as_json)
        return ExitCode.BROKEN


def _unexpected(error: Exception) -> EnvironmentFault:
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return EnvironmentFault(f"{where}{error.strerror or error}", code="os-error")
    return EnvironmentFault(
        f"a fault of evolve itself: {type(error).__name__}: {error}",
        hint="EVOLVE_DEBUG=1 shows where; please report it",
        code="internal",
    )
