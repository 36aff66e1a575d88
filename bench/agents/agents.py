"""Starts a real agent and talks to it, turn by turn. The address it is given is the provider's, or that of a proxy before it."""

import json
import subprocess
from pathlib import Path


def claude(binary, address, environment, lines, log):
    """One process of Claude Code for the whole conversation. Returns how often it failed, or compacted by itself, which it must never have to."""
    environment |= {"ANTHROPIC_API_KEY": "sk-ant-none", "ANTHROPIC_BASE_URL": address, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    form = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"]
    home = environment["HOME"]
    agent = subprocess.Popen([binary or "claude", *form], env=environment, cwd=home, stdin=-1, stdout=-1, stderr=log, text=True)
    faults = 0
    for line in lines:
        message = {"role": "user", "content": [{"type": "text", "text": line}]}
        print(json.dumps({"type": "user", "message": message}), file=agent.stdin, flush=True)
        told = {}
        while told.get("type") != "result":
            told = json.loads(agent.stdout.readline() or '{"type": "result", "is_error": true}')
            faults += "compact" in str(told.get("subtype"))
        faults += bool(told.get("is_error"))
    agent.stdin.close()
    return faults + (agent.wait() != 0)


def codex(binary, address, environment, lines, log):
    """A process of Codex for each turn, which resumes the conversation. Returns how often it failed."""
    home = Path(environment["HOME"])
    (home / ".codex").mkdir()
    provider = f'[model_providers.local]\nname = "local"\nbase_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "LOCAL_KEY"\n'
    (home / ".codex/config.toml").write_text(f'model = "gpt-5-codex"\nmodel_provider = "local"\n{provider}')
    environment |= {"CODEX_HOME": str(home / ".codex"), "LOCAL_KEY": "sk-none"}
    free = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    faults = 0
    for turn, line in enumerate(lines):
        again = ["resume", "--last"] if turn else []
        ran = subprocess.run([binary or "codex", "exec", *again, *free, line], env=environment, cwd=home, stdin=-3, stdout=-3, stderr=log)
        faults += ran.returncode != 0
    return faults


def library(name):
    """A small agent on a vendor's library; `binary` is a Python that has it."""
    def agent(binary, address, environment, lines, log):
        program = [binary or "python3", Path(__file__).with_name("library.py"), name, address]
        child = subprocess.Popen(program, env=environment, cwd=environment["HOME"], stdin=-1, stdout=-1, stderr=log, text=True)
        faults = 0
        for line in lines:
            print(json.dumps(line), file=child.stdin, flush=True)
            told = child.stdout.readline()
            faults += told != "ok\n"
            log.write(told)
        child.stdin.close()
        return faults + (child.wait() != 0)
    return agent


AGENTS = {"claude": claude, "codex": codex, "openai": library("openai"), "anthropic": library("anthropic")}
# The tokens of the agent's usual provider for one of o200k_base.
TOKENS = {"claude": 1.2, "codex": 1.0, "openai": 1.0, "anthropic": 1.2}
