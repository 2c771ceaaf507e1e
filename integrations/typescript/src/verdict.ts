/**
 * Reads the verdict that a Resay gateway adds to answers: from responses, events of streams, headers, and the objects
 * that the AI SDK and LangChain make of them. It depends on nothing.
 */

export type Decision = "consistent" | "flagged" | "inconclusive" | "skipped";
export type Action = "allow" | "annotate" | "block" | "regenerate";
/** No sample or reference states what is unsupported; at least one denies what is contradicted. */
export type Band = "supported" | "doubtful" | "unsupported" | "contradicted";

/** What a sample, a reference, or an answer to a question about a flagged claim says in its place. */
export interface Contradiction {
  source: "sample" | "reference" | "second_opinion" | "answer" | "tool" | "conversation";
  index: number;
  text: string;
  kind: "number" | "date" | "name" | "negation" | "other";
  claim_span: [start: number, end: number] | null;
  evidence_span: [start: number, end: number] | null;
  /** Of the policy's second model, if it made the statement. */
  model: string | null;
  /** Of the reference, if it has one. */
  title: string | null;
}

/** One sentence of the answer. `start` and `end` count code points: see `textAt`. */
export interface SentenceVerdict {
  text: string;
  start: number;
  end: number;
  /** From 0, supported, to 1; not a probability. Null if no method scored it. */
  score: number | null;
  flagged: boolean;
  by: string | null;
  reason: string | null;
  contradicted_by: Contradiction | null;
  citations: string[];
  scores: Record<string, number>;
  band: Band | null;
}

/** One thing that the answer claims. */
export interface ClaimVerdict {
  text: string;
  start: number;
  end: number;
  unit: string;
  kind: string;
  score: number | null;
  flagged: boolean;
  by: string | null;
  reason: string | null;
  contradicted_by: Contradiction | null;
  scores: Record<string, number>;
  sentence: number;
  band: Band | null;
  /** The words of a flagged claim that the evidence speaks for or against; empty if all of it is in doubt. */
  parts: Part[];
}

/** Words of a claim. */
export interface Part {
  start: number;
  end: number;
  band: Band;
  kind: "number" | "date" | "name" | "negation" | "link" | "other";
  score: number | null;
  /** What is wrong with them; null if the method does not tell. */
  error: "contradiction" | "addition" | "invention" | null;
}

/** A part of the answer that was not scored. */
export interface Unscored {
  text: string;
  start: number;
  end: number;
  kind: string;
}

/** The cost of the check; `cost_usd` is null when a price is unknown. */
export interface Usage {
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number | null;
  cancelled: number;
}

/** The result of a check. "consistent" never means "true". The gateway's /openapi.json describes all fields. */
export interface Verdict {
  decision: Decision;
  action: Action;
  /** The text without marks, if the policy marks it (`action: {marks: inline}`). */
  response?: string;
  /** The score that decides: the answer is flagged if and only if it is above `threshold`. */
  score: number | null;
  threshold: number | null;
  mean_score: number | null;
  reason: string;
  flagged: boolean;
  inconclusive: boolean;
  samples: number;
  sentences: SentenceVerdict[];
  claims: ClaimVerdict[];
  unscored: Unscored[];
  usage: Usage;
  elapsed_s: number;
}

/** The summary in the headers of answers that are not streamed; `action` is "unguarded" for one that was not checked. */
export interface Summary {
  decision: Decision | undefined;
  action: Action | "unguarded";
  score: number | undefined;
  requestId: string | undefined;
}

/** Where clients keep the body of an answer, or an event of a stream. */
const PATHS: readonly (readonly string[])[] = [
  [],
  ["response"], // the last event of OpenAI's Responses API
  ["response", "body"], // a result of the AI SDK
  ["rawValue"], // a raw chunk of the AI SDK
  ["rawValue", "response"],
  ["additional_kwargs", "__raw_response"], // a message of LangChain
  ["providerMetadata", "resay"], // a result or a part of a stream of the AI SDK, with the middleware
];

function at(source: unknown, path: readonly string[]): unknown {
  let value = source;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** Return the verdict in a response, an event of a stream, or an object that a client made of them, if it has one. */
export function verdictOf(source: unknown): Verdict | undefined {
  for (const path of PATHS) {
    const verdict = at(source, [...path, "hallucination"]);
    if (typeof verdict === "object" && verdict !== null && "decision" in verdict) return verdict as Verdict;
  }
  return undefined;
}

/** Return the summary in the headers of a response, if the gateway sent one. */
export function summaryOf(headers: Headers | Readonly<Record<string, string>>): Summary | undefined {
  const values = headers instanceof Headers ? headers : new Headers(headers);
  const action = values.get("x-resay-action");
  if (action === null) return undefined;
  const score = values.get("x-resay-score");
  return {
    decision: (values.get("x-resay-decision") ?? undefined) as Decision | undefined,
    action: action as Action | "unguarded",
    score: score === null ? undefined : Number(score),
    requestId: values.get("x-resay-request-id") ?? undefined,
  };
}

/** Pass a stream on, and report its verdict, which is in the event that ends the answer. */
export async function* withVerdict<T>(stream: AsyncIterable<T>, report: (verdict: Verdict) => void): AsyncGenerator<T> {
  let reported: Verdict | undefined;
  for await (const event of stream) {
    const verdict = verdictOf(event);
    // The AI SDK may show one verdict in two events.
    if (verdict && verdict !== reported) report(verdict);
    reported = verdict ?? reported;
    yield event;
  }
}

/** Return a part of an answer. Offsets count code points, and JavaScript's strings do not. */
export function textAt(answer: string, start: number, end: number): string {
  return [...answer].slice(start, end).join("");
}

/** A piece of an answer; `sentence` is missing for what is between sentences. */
export interface Segment {
  text: string;
  sentence?: SentenceVerdict;
}

/** Return an answer in pieces, each with the verdict on its sentence, for example to colour it. */
export function segmentsOf(answer: string, verdict: Verdict): Segment[] {
  const points = [...answer];
  const segments: Segment[] = [];
  let position = 0;
  for (const sentence of verdict.sentences) {
    if (sentence.start < position || sentence.end > points.length) continue; // not of this text
    if (sentence.start > position) segments.push({ text: points.slice(position, sentence.start).join("") });
    segments.push({ text: points.slice(sentence.start, sentence.end).join(""), sentence });
    position = sentence.end;
  }
  if (position < points.length) segments.push({ text: points.slice(position).join("") });
  return segments;
}
