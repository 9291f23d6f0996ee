/** The tools that the manifest declares for agents of the editor take the inputs of the MCP server's, as README.md says. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { askShape, recallShape, summarizeShape } from '../../src/cli/mcp/schemas.js';

interface Inputs {
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

suite('tools of the editor', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
    contributes: { languageModelTools: { name: string; inputSchema: Inputs }[] };
  };
  const shapes: Readonly<Record<string, { readonly input: z.ZodRawShape }>> = {
    longview_recall: recallShape,
    longview_ask: askShape,
    longview_summarize: summarizeShape,
  };

  for (const { name, inputSchema } of manifest.contributes.languageModelTools) {
    test(`${name}: names, types, limits and defaults`, () => {
      const served = z.toJSONSchema(z.object(shapes[name]!.input), { io: 'input' }) as unknown as Inputs;
      // Descriptions are worded for each.
      const inputsOf = ({ properties }: Inputs): unknown =>
        Object.entries(properties).map(([input, facts]) => [
          input,
          { ...facts, description: typeof facts['description'] },
        ]);
      assert.deepEqual(inputsOf(inputSchema), inputsOf(served));
      assert.deepEqual(inputSchema.required ?? [], served.required ?? []);
    });
  }
});
