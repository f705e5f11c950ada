"""How close the LLM judge comes to what its workers could do: ``python tests/benchmarks/llm_requests.py``.

100 samples, two requests each, against a local server that answers after 50 ms, 16 workers, an empty cache,
libraries loaded. Ideal: 200 requests · 50 ms / 16. Target: ≤ 1.5 × ideal from the first request to the last reply.
A figure, not a test.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

DELAY, WORKERS, SAMPLES = 0.05, 16, 100


def _reply(body: dict[str, Any]) -> dict[str, Any]:
    if "questions" in body["response_format"]["json_schema"]["schema"]["properties"]:
        return {"questions": ["上限是多少？", "上传上限多大？", "最大多少？"]}
    verdicts = [{"context": n, "verdict": "supported", "quote": ""} for n in (1, 2, 3)]
    claim = {"text": "上限为 2GB", "verdicts": verdicts}
    return {
        "contexts": [{"context": n, "relevant": True} for n in (1, 2, 3)],
        "refusal": {"declines": False, "answers_anyway": True},
        "answer_claims": [{**claim, "reference_verdict": "supported"}],
        "reference_claims": [{**claim, "answer_verdict": "supported"}],
        "conflicts": [],
    }


async def _serve(port: Any, times: Any) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            length = 0
            while (line := await reader.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = json.loads(await reader.readexactly(length)) if head else {}
            started = time.monotonic()
            await asyncio.sleep(DELAY)
            message = {"role": "assistant", "content": json.dumps(_reply(body), ensure_ascii=False)}
            content = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(content)
            )
            writer.write(content)
            await writer.drain()
            times.put((started, time.monotonic()))
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _server(port: Any, times: Any) -> None:
    asyncio.run(_serve(port, times))


def main() -> None:
    """Measure and print."""
    from workbench.data.schema import Context, Sample
    from workbench.evidence.cache import Cache
    from workbench.evidence.llm import LLMJudge

    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe()
    times = context.Queue()
    process = context.Process(target=_server, args=(sender, times), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{receiver.recv()}/v1"
    texts = tuple(Context(f"上限为 2GB，第 {n} 条说明。") for n in range(3))
    samples = [Sample(f"s{n}", f"问题 {n}？", f"上限为 2GB，编号 {n}。", texts, "上限为 2GB") for n in range(SAMPLES)]
    judge = LLMJudge("m", base_url=url, api_key="k", workers=WORKERS, cache=Cache(tempfile.mkdtemp()))
    list(LLMJudge("m", base_url=url, api_key="k", cache=Cache(tempfile.mkdtemp())).examine(samples[:1]))
    started, cpu = time.monotonic(), time.process_time()
    states = [item.state for item in judge.examine(samples)]
    cpu = time.process_time() - cpu
    whole = time.monotonic() - started
    spans = [times.get(timeout=5) for _ in range(2 + judge.spending.requests)][2:]
    process.kill()
    ideal = len(spans) * DELAY / WORKERS
    busy = max(end for _, end in spans) - min(start for start, _ in spans)
    print(f"{len(spans)} requests, {states.count('ok')} samples ok; ideal {ideal:.2f} s")
    print(f"first request to last reply {busy:.2f} s = {busy / ideal:.2f} × ideal; with start-up {whole:.2f} s")
    print(f"CPU of this process {cpu:.2f} s: a busy machine makes the wall time longer, not the CPU time")


if __name__ == "__main__":
    main()
