/** `node tiny-data.js FOLDER`: a data folder with the tiny text model, `tiny`, for suites in which no answer need be good. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { TinyFolder } from '../engine/tiny-engine.js';
import { tinyTextModel } from '../engine/tiny-text-model.js';

const [data = ''] = process.argv.slice(2);
const folder = new TinyFolder();
try {
  const { path } = await tinyTextModel(folder);
  cpSync(path, join(data, 'models', 'tiny'), { recursive: true });
} finally {
  await folder.dispose();
}
