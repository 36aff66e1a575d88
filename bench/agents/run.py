"""Real coding agents for many turns, directly and through `neap serve`, against a provider on this machine: what does a budget save, and what is lost?

    npm install @anthropic-ai/claude-code @openai/codex
    python3 bench/agents/run.py claude --turns 200 --share 35 --share 50
    python3 bench/agents/run.py codex --turns 200 --budget 15000 --filler coding --option=--trim-tools
    python3 bench/agents/run.py openai --agent target/sdk/bin/python --turns 120 --budget 8000

The agent first has the conversation directly; its requests are kept in a file (--recording). Then it has the same conversation through the
proxy, once for each --share (a budget as per cent of the longest direct request) or --budget (in the provider's tokens). With --replay the
recorded requests are sent through the proxy instead, without the agent: they are the same, since the provider answers by a script, and it
takes a minute or two. Nothing is asked of anybody outside this machine.

Every request that reaches the provider is counted in its tokens, an estimate of OpenAI's own and 1.2 times that for Claude. Per budget, as JSON:

  ratio          cost of all requests, divided by that of the direct ones. What a request has in common with the one before, from its
                 beginning on, costs 0.1 of an input token; the rest 1.25.
  highest ratio  of the same, after any request: what a conversation that ended there would have cost.
  peak           tokens of the longest request; `over` counts those above the budget.
  cuts           how often the proxy cut the history, in how many turns after the first cut one more came, and requests that do not go on
                 from the one before: with a cut, and (breaks elsewhere) without.
  recalled       per cent of the tokens of messages that were recalled, each distinct message counted once.
  facts          planted facts that are in the request when they are asked for, by kind and by distance in turns.
  written files  files that the model wrote in the last 10 turns and that the request has verbatim, of all (filler coding).
  spent          where the cost comes from (thousand input tokens): read from the cache, written to it first, written to it again.
  unpaired       requests with a tool call without its result, or a result without its call.
  faults         errors of the agent, and its own compactions.

Exit code 0 if no request is over, unpaired or broken elsewhere, no fact is missing and the agent has no faults.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import measure
import script
from agents import AGENTS, TOKENS
from cost import Counter
from session import Session, read_recording


def arguments():
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("which", choices=list(AGENTS), help="the agent")
    asks.add_argument("--turns", type=int, default=200, help="how many messages the user sends (200)")
    asks.add_argument("--share", type=float, action="append", default=[], help="a budget, in per cent of the longest direct request; repeatable")
    asks.add_argument("--budget", type=int, action="append", default=[], help="a budget in the provider's tokens; repeatable")
    asks.add_argument("--filler", choices=list(script.FILLERS), default="prose", help="; ".join(f"{name}: {what}" for name, what in script.FILLERS.items()))
    asks.add_argument("--option", action="append", default=[], help="of the proxy, such as --option=--economy; repeatable")
    asks.add_argument("--replay", action="store_true", help="send the recorded requests instead of running the agent again")
    asks.add_argument("--first", type=int, help="with --replay, only so many turns of the recording; a --share is of their longest request")
    asks.add_argument("--pace", type=float, default=0.3, help="seconds between replayed requests (0.3): Neap embeds what was said meanwhile")
    asks.add_argument("--recording", help="file of the direct requests, JSON lines: read if it is there, else written (default: in the temporary folder)")
    asks.add_argument("--sent", help="folder for the requests that came through the proxy, JSON lines, one file for each budget")
    asks.add_argument("--neap", default="neap", help="the binary")
    asks.add_argument("--agent", help="the agent's binary; for openai and anthropic, a Python that has the library")
    args = asks.parse_args()
    if args.first and not args.replay:
        asks.error("--first needs --replay")
    args.recording = Path(args.recording or Path(tempfile.gettempdir()) / f"neap-agents-{args.which}-{args.filler}-{args.turns}.jsonl")
    return args


def main():
    args = arguments()
    tokens = Counter(TOKENS[args.which])
    session = Session(args, tokens, script.lines(args.turns, args.filler))
    faults = 0 if args.recording.exists() else session.record()
    direct = read_recording(args.recording)
    direct = measure.beginning(direct, args.first) if args.first else direct
    told, holds = {"agent": args.which, "turns": args.first or args.turns, "filler": args.filler, "options": args.option} | measure.direct(direct, tokens, faults), faults == 0
    budgets = [round(told["direct"]["peak"] * share / 100) for share in args.share] + args.budget
    for budget in budgets:
        began = time.monotonic()
        sent, epochs, faults = session.through_neap(budget, direct)
        figures = measure.through(args, tokens, budget, direct, sent, epochs) | {"faults": faults, "seconds": round(time.monotonic() - began)}
        told[f"budget {budget}"] = figures
        holds = holds and measure.holds(figures)
    print(json.dumps(told, indent=1))
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
