/** Against a gateway: its address is in RESAY_GATEWAY, and the tests of the whole project start one. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText, wrapLanguageModel } from "ai";

import { resay } from "../src/ai-sdk.js";
import { segmentsOf, summaryOf, type Verdict, verdictOf } from "../src/verdict.js";

const GATEWAY = process.env.RESAY_GATEWAY;
const skip = GATEWAY === undefined && "RESAY_GATEWAY is not set";
const prompt = "Tell me about the Sydney Harbour Bridge.";

function guarded(onVerdict?: (verdict: Verdict) => void) {
  const openai = createOpenAI({ baseURL: `${GATEWAY}/v1`, apiKey: "none" });
  return wrapLanguageModel({ model: openai.chat("simulated"), middleware: resay(onVerdict ? { onVerdict } : {}) });
}

test("a response and its headers", { skip }, async () => {
  const response = await fetch(`${GATEWAY}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "simulated", messages: [{ role: "user", content: prompt }] }),
  });
  const body = (await response.json()) as { choices: { message: { content: string } }[] };
  const verdict = verdictOf(body);
  assert.ok(verdict);
  assert.equal(verdict.decision, "flagged");
  const summary = summaryOf(response.headers);
  assert.equal(summary?.decision, verdict.decision);
  assert.ok(summary?.requestId);
  assert.ok((verdict.score ?? 0) > (verdict.threshold ?? 1));
  const answer = body.choices[0]?.message.content ?? "";
  for (const { text, sentence } of segmentsOf(answer, verdict)) if (sentence) assert.equal(text, sentence.text);
});

test("the middleware adds the verdict to a result", { skip }, async () => {
  const verdicts: Verdict[] = [];
  const result = await generateText({ model: guarded((verdict) => verdicts.push(verdict)), prompt });
  assert.equal(verdicts.length, 1);
  assert.equal(verdicts[0]?.decision, "flagged");
  assert.deepEqual(verdictOf({ providerMetadata: result.providerMetadata }), verdicts[0]);
  assert.match(result.text, /Sydney Harbour Bridge/);
});

test("the middleware adds the verdict to a stream, and no raw chunks", { skip }, async () => {
  const verdicts: Verdict[] = [];
  const { fullStream, text, providerMetadata } = streamText({ model: guarded((verdict) => verdicts.push(verdict)), prompt });
  const kinds = new Set<string>();
  for await (const part of fullStream) kinds.add(part.type);
  assert.ok(kinds.has("text-delta"));
  assert.ok(!kinds.has("raw"));
  assert.equal(verdicts.length, 1);
  assert.deepEqual(verdictOf({ providerMetadata: await providerMetadata }), verdicts[0]);
  assert.match(await text, /Sydney Harbour Bridge/);
});

test("raw chunks that were asked for pass", { skip }, async () => {
  const { fullStream } = streamText({ model: guarded(), prompt, includeRawChunks: true });
  const kinds = new Set<string>();
  for await (const part of fullStream) kinds.add(part.type);
  assert.ok(kinds.has("raw"));
});
