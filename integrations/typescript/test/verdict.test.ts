import assert from "node:assert/strict";
import { test } from "node:test";

import { type SentenceVerdict, segmentsOf, summaryOf, textAt, type Verdict, verdictOf, withVerdict } from "../src/verdict.js";

function sentence(text: string, start: number, flagged: boolean): SentenceVerdict {
  return {
    text,
    start,
    end: start + [...text].length,
    score: flagged ? 0.9 : 0.1,
    flagged,
    by: "facts",
    reason: null,
    contradicted_by: null,
    citations: [],
    scores: {},
    band: flagged ? "contradicted" : "supported",
  };
}

const ANSWER = "🌉 It opened in 1932.  It has 31 lamps.\n";
const VERDICT = {
  decision: "flagged",
  sentences: [sentence("🌉 It opened in 1932.", 0, false), sentence("It has 31 lamps.", 22, true)],
} as Verdict;

test("a verdict is found wherever clients keep it", () => {
  const body = { hallucination: VERDICT };
  for (const source of [
    body,
    { response: body },
    { response: { body } },
    { rawValue: body },
    { rawValue: { response: body } },
    { additional_kwargs: { __raw_response: body } },
    { providerMetadata: { resay: body } },
  ])
    assert.equal(verdictOf(source), VERDICT);
});

test("where there is no verdict, there is none", () => {
  for (const source of [undefined, null, "text", 1, {}, { hallucination: null }, { hallucination: {} }, { response: 7 }])
    assert.equal(verdictOf(source), undefined);
});

test("headers have a summary", () => {
  const headers = {
    "x-resay-action": "annotate",
    "x-resay-decision": "flagged",
    "x-resay-score": "0.62",
    "x-resay-request-id": "abc",
  };
  const summary = { action: "annotate", decision: "flagged", score: 0.62, requestId: "abc" };
  assert.deepEqual(summaryOf(headers), summary);
  assert.deepEqual(summaryOf(new Headers(headers)), summary);
  assert.equal(summaryOf({ "content-type": "text/plain" }), undefined);
  assert.deepEqual(summaryOf({ "x-resay-action": "unguarded" }), {
    action: "unguarded",
    decision: undefined,
    score: undefined,
    requestId: undefined,
  });
});

test("offsets count code points", () => {
  for (const { text, start, end } of VERDICT.sentences) assert.equal(textAt(ANSWER, start, end), text);
});

test("segments are the whole answer", () => {
  const segments = segmentsOf(ANSWER, VERDICT);
  assert.equal(segments.map((segment) => segment.text).join(""), ANSWER);
  assert.deepEqual(
    segments.map((segment) => segment.sentence?.flagged),
    [false, undefined, true, undefined],
  );
});

test("segments of another text lose nothing", () => {
  assert.deepEqual(segmentsOf("Withheld.", VERDICT), [{ text: "Withheld." }]);
});

test("a stream passes unchanged, and its verdict is reported once", async () => {
  const events = [{ delta: "It" }, { rawValue: { hallucination: VERDICT } }, { providerMetadata: { resay: { hallucination: VERDICT } } }];
  const reported: Verdict[] = [];
  const passed: unknown[] = [];
  async function* stream() {
    yield* events;
  }
  for await (const event of withVerdict(stream(), (verdict) => reported.push(verdict))) passed.push(event);
  assert.deepEqual(passed, events);
  assert.deepEqual(reported, [VERDICT]);
});
