/** The small folder that the tests of `ask` ask about. */
import { Folder } from '../memory/folder.js';

export const retry =
  'def send_with_backoff(request):\n    """Retries a request."""\n    wait(2)\n    return send(request)\n';
export const question = 'Where does a request wait for its backoff?';

export function askFolder(): Promise<Folder> {
  return Folder.of({
    'src/retry.py': retry,
    'src/close.py': 'def close(pool):\n    pool.clear()\n',
    'logo.bin': '\0\0\0\0',
  });
}
