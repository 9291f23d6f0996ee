/**
 * A process of its own that reads a folder with a model, to be killed: `node read-child.js MODEL ROOT DATA LEAST MOST`. Prints
 * `tokens N MB M` while it reads, M the most memory it had, and in the end a line of JSON with the report and `rss`, the same.
 */
import { writeSync } from 'node:fs';
import { openEngine } from '../../src/engine/index.js';
import { openWorkspaceMemory } from '../../src/memory/index.js';

const [model = '', root = '', data = '', least = '', most = ''] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

function mostMemory(): number {
  return Math.round(process.resourceUsage().maxRSS / 1000);
}

const engine = await openEngine(model, { threads: 2 });
const parts = { least: Number(least), most: Number(most) };
const lease = { beat: 50, stale: 500 };
const memory = await openWorkspaceMemory({ root, data, engine, settings: { parts }, leaseRetry: 50, lease });
let said = 0;
const report = await memory.refresh({
  onProgress: ({ task, done }) => {
    if (task !== 'Reading' || done < said + 1000) return;
    said = done;
    say(`tokens ${done} MB ${mostMemory()}`);
  },
});
await memory.dispose();
await engine.dispose();
say(JSON.stringify({ ...report, rss: mostMemory() }));
