/** Middleware for the AI SDK that gives a model's answers the verdict of a Resay gateway. */

import type { LanguageModelMiddleware } from "ai";

import { type Verdict, verdictOf } from "./verdict.js";

export type { Verdict } from "./verdict.js";
export { verdictOf, withVerdict } from "./verdict.js";

export interface ResayOptions {
  /** Called with the verdict of each answer, streamed or not. */
  onVerdict?: (verdict: Verdict) => void;
}

type Generated = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>>;
type Metadata = NonNullable<Generated["providerMetadata"]>;
type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>;
type StreamPart = Streamed["stream"] extends ReadableStream<infer Part> ? Part : never;

function withMetadata(metadata: Metadata | undefined, verdict: Verdict): Metadata {
  return { ...metadata, resay: { hallucination: verdict } as unknown as Metadata[string] };
}

/**
 * Return middleware for `wrapLanguageModel`. The verdict is in `providerMetadata.resay` of results, and of the part that
 * ends a stream, where `verdictOf` finds it.
 */
export function resay({ onVerdict }: ResayOptions = {}): LanguageModelMiddleware {
  return {
    specificationVersion: "v3",

    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate();
      const verdict = verdictOf(result);
      if (!verdict) return result;
      onVerdict?.(verdict);
      return { ...result, providerMetadata: withMetadata(result.providerMetadata, verdict) };
    },

    async wrapStream({ model, params }) {
      // The verdict is in the provider's own chunks, which the SDK leaves out unless asked.
      const result = await model.doStream({ ...params, includeRawChunks: true });
      let verdict: Verdict | undefined;
      const attach = new TransformStream<StreamPart, StreamPart>({
        transform(part, controller) {
          if (part.type === "raw") {
            verdict = verdictOf(part) ?? verdict;
            if (!params.includeRawChunks) return;
          }
          if (part.type === "finish" && verdict) {
            onVerdict?.(verdict);
            part = { ...part, providerMetadata: withMetadata(part.providerMetadata, verdict) };
          }
          controller.enqueue(part);
        },
      });
      return { ...result, stream: result.stream.pipeThrough(attach) };
    },
  };
}
