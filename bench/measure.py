"""What the benchmark and the conformance run share: one measured run of lithe, one of the peer, and what machine this is."""
import json
import os
import platform
import re
import subprocess


class Failed(Exception):
    """A run that did not give what was asked; the text is for people."""


def command(args, what):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{what}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def words(n):
    """Text that is n tokens in the tokenizers of the real bundles, the start token included."""
    return "a" + " a" * (n - 2)


def run_lithe(lithe, bundle, prefill, decode, threads, *options):
    """`lithe run --json` on a prompt of exactly `prefill` tokens."""
    args = [lithe, "run", bundle, "--json", "--raw", "-q", "--ignore-stop", "--temperature", "0", "--threads", threads, "-p", words(prefill)]
    out = json.loads(command(args + (["-n", decode] if decode else []) + list(options), "lithe run"))
    if len(out["prompt_tokens"]) != prefill:
        raise Failed(f"the prompt has {len(out['prompt_tokens'])} tokens, not {prefill}")
    if decode and len(out["tokens"]) != decode:
        raise Failed(f"{len(out['tokens'])} tokens were generated, not {decode}")
    return out


def run_peer(python, bundle, prefill, decode, threads, cache="no"):
    """scripts/peer/peer_bench.py; its JSON is the last line that it prints."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "peer", "peer_bench.py")
    out = command([python, script, bundle, "--threads", threads, "--prefill", prefill, "--decode", decode, "--cache", cache], "the peer")
    return json.loads(out.strip().splitlines()[-1])


def machine():
    """Lines for a report: what the figures hold for."""
    info = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
    model = re.search(r"model name\s*:\s*(.*)", info)
    flags = re.search(r"(?:flags|Features)\s*:\s*(.*)", info)
    wanted = ("fma", "f16c", "avx2", "avx_vnni", "avx512f", "avx512_vnni", "asimd", "asimddp", "i8mm")
    seen = [f for f in wanted if flags and f in flags.group(1).split()]
    memory = re.search(r"MemTotal:\s*(\d+)", open("/proc/meminfo").read()) if os.path.exists("/proc/meminfo") else None
    git = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "machine": f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores"
                   + (f", {int(memory.group(1)) >> 20} GB" if memory else ""),
        "CPU features": " ".join(seen) or "unknown",
        "load average": "%.2f %.2f %.2f" % os.getloadavg(),
        "system": f"{platform.system()} {platform.release()}",
        "commit": git.stdout.strip() or "unknown",
    }
