/** The small folder that the tests of `ask` ask about. */
import type { WorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from '../memory/fake-engine.js';
import { Folder } from '../memory/folder.js';

export const retry =
  'def send_with_backoff(request):\n    """Retries a request."""\n    wait(2)\n    return send(request)\n';
export const question = 'Where does a request wait for its backoff?';

/** It, and a memory of it that nothing was read into yet. */
export async function openAskFolder(): Promise<{ folder: Folder; engine: FakeEngine; memory: WorkspaceMemory }> {
  const folder = await Folder.of({
    'src/retry.py': retry,
    'src/close.py': 'def close(pool):\n    pool.clear()\n',
    'logo.bin': '\0\0\0\0',
  });
  const engine = new FakeEngine();
  return { folder, engine, memory: await folder.memory(engine) };
}
