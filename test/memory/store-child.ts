/**
 * A process of its own for the store's tests: `node store-child.js MODE FOLDER [ROUND]`. Prints one line for each thing that
 * is done, after it is done, without buffering.
 */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/memory/store/index.js';
import { keyOf, partOf, sampleMemory, sampleRow } from './store-samples.js';

const [mode = '', folder = '', round = '0'] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

const store = await openStore(folder, { workspace: '/w', log: (_, line) => say(`log ${line}`) });
switch (mode) {
  case 'loop':
    // Writes until it is killed. What is printed is on the disk.
    for (let at = 0; ; at++) {
      const memory = sampleMemory(`round ${round}/file ${at % 20}`, `content ${at}`, 2000);
      const row = sampleRow(memory.path, { contentHash: memory.contentHash, parts: [partOf(memory)] });
      await store.batch(write => {
        write.putMemory(keyOf(memory), memory);
        write.putRow(row);
      });
      say(`${at}`);
      if (at % 7 === 6) await store.collectGarbage({ keepBytes: 0 });
    }
  case 'rows':
    for (let at = 0; at < 200; at++) {
      await store.ledger.put(sampleRow(`child ${at}`));
      if (at % 20 === 0) await sleep(1);
    }
    say('done');
    break;
  case 'fill':
    // Until the disk is full.
    for (let at = 0; at < 1000; at++) {
      try {
        await store.putBlob(`blob ${at}`, new Uint8Array(200_000).fill(at));
      } catch (error) {
        say(JSON.stringify([at, (error as { code: string }).code, (error as Error).message]));
        break;
      }
    }
    say(JSON.stringify(store.getBlob('blob 0')?.ok));
    break;
  case 'forget':
    // One of what is there, then it stays open until it is killed.
    await store.forget(round);
    say('forgotten');
    await sleep(60_000);
    break;
  case 'lease': {
    const lease = await store.tryBecomeReader();
    say('heldBy' in lease ? `held by ${lease.heldBy}` : 'reader');
    await sleep(60_000);
    break;
  }
  default:
    throw new Error(`No such mode: ${mode}`);
}
await store.dispose();
