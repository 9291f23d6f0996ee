/** What the MCP tools take and give, as zod shapes: the contract with agents. Fields may be added, never renamed. */
import { z } from 'zod';

const line = z.number().int().positive();
const count = z.number().int().nonnegative();
const place = z.object({
  path: z.string(),
  startLine: line,
  endLine: line,
  place: z
    .string()
    .optional()
    .describe('Where in a document that is, e.g. `page 3`; the lines are those of its text, not of the file.'),
});
const recalled = place.extend({
  score: z.number(),
  focus: z
    .object({ startLine: count, endLine: count })
    .optional()
    .describe('Of a longer place, the lines that the question finds most.'),
  cut: count
    .optional()
    .describe('Characters of very long lines that are left out at the end; missing where it is whole.'),
});

export const coverage = z
  .object({
    total: count,
    read: count,
    stale: count,
    waiting: count,
    coarse: count,
    skipped: count,
    partly: count.optional(),
  })
  .describe('Files of the folder, by what is known of them.');

const folder = z
  .string()
  .optional()
  .describe('Absolute path or name of the folder; needed only where this server has several.');
const readSeconds = z
  .number()
  .min(0)
  .max(3600)
  .default(30)
  .describe(
    'Time to wait for new and changed files to be read. After a question reading goes on, so a later call knows more. 0: answer from what is read.',
  );
const question = z.string().min(1).max(4000);

export const recallShape = {
  input: {
    question: question.describe('What to look for, in plain words or with names of the code.'),
    limit: z.number().int().min(1).max(50).default(8).describe('Places wanted.'),
    folder,
  },
  output: { folder: z.string(), places: z.array(recalled.extend({ text: z.string() })), coverage },
};

export const askShape = {
  input: {
    question: question.describe('A question about the files of the folder.'),
    maxTokens: z.number().int().min(1).max(2000).optional().describe('Longest answer.'),
    readSeconds,
    folder,
  },
  output: {
    folder: z.string(),
    answer: z.string(),
    recalled: z.array(recalled),
    citations: z.array(place.extend({ ok: z.boolean(), why: z.string().optional() })),
    unknownNames: z
      .array(z.string())
      .describe('Names of code in the answer that stand in none of the files recalled: likely made up.'),
    coverage,
    model: z.string(),
  },
};

export const summarizeShape = {
  input: {
    path: z
      .string()
      .optional()
      .describe('File or folder, relative to the folder or absolute. Left out: the whole folder.'),
    since: z.string().optional().describe('A commit: summarize what changed since it, instead of a path.'),
    maxSentences: z.number().int().min(1).max(40).optional().describe('Longest summary, in sentences.'),
    readSeconds,
    folder,
  },
  output: {
    folder: z.string(),
    summary: z.array(z.object({ text: z.string(), places: z.array(place), quoted: z.boolean() })),
    notes: z.array(z.string()),
    coverage,
    model: z.string(),
  },
};

export const statusShape = {
  input: { folder },
  output: {
    folders: z.array(
      z.object({
        folder: z.string(),
        coverage,
        skipped: z.record(z.string(), count).describe('Skipped files by reason.'),
        tokens: count,
        state: z.object({
          slots: count,
          bytes: count,
          made: z.enum(['composed', 'patched']).optional(),
          tokens: count.optional().describe('Of the files in it.'),
        }),
        recall: z.object({ slots: count, bytes: count }),
        store: z.object({ path: z.string(), bytes: count }),
      }),
    ),
  },
};
