// `npm run bench -- COMMAND …`, or `longview bench …` from a clone: the figures of docs/measurements, made by the engine itself.
// Never part of the tests: these need a quiet machine and patience. Loss and speed use the installed default model.
import { readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SetUpError, compile, ensureCommandLine, ensurePackages, main, root } from '../scripts/set-up.mjs';

const usage = `npm run bench -- loss [--tokens 4096] FILE...
                                loss of the second half of so many tokens, each file, by schedule
npm run bench -- context [--tasks A,B] [--lengths 4096,8192,32768,131072] [--schedules window,fixed,root,even,kept,recalled,full]
                         [--samples N] [--seed N] [--threads N] [--out FOLDER] [--anyway]
                                needles, chains, common words and constants in long texts, by schedule, and over passages that
                                were recalled as the product does; goes on where it was interrupted; --anyway also reads what takes many GB and hours
npm run bench -- speed FILE [--lengths 512,2048,8192] [--threads 2] [--engines longview,full,window,memory,memory+gist,llama.cpp]
                         [--json FILE]
                         [--plot FILE.svg]
                                tokens/s of reading and writing, first token, memory, loss of the text's next 64 tokens; with
                                --json it goes on where it was interrupted; llama.cpp where node-llama-cpp can be imported
                                (NODE_LLAMA_CPP: from where) and LLAMA_GGUF names the same model's file
npm run bench -- quantisation CHECKPOINT [FILE]
                                bytes, memory and loss of f32, f16, q8 and q4; a .gguf file or a Hugging Face folder
npm run bench -- parity [--json]    the engine against golden data, case by case; exits with 0 only if all hold
npm run bench -- changed-file FOLDER [FILES]    a patch of the state beside composing it (default 300 files), and its drift,
                                with gists mixed from those of a folder that was read
npm run bench -- events [FILES]    what edits, renames, branches and stashes cost (default 1,000 files); exits with 1
                                where more is read than what is new
npm run bench -- server-delay [FILES]    how fast the server answers while it reads (default 1,000 small files)
npm run bench -- many-files [FILES]    what looking through so many files costs (default 100,000), and pings meanwhile
npm run bench -- manners [SECONDS]    what reading costs a busy neighbour, at normal priority and below it; its
                                processor time at several caps
npm run bench -- long-document [--tokens N] [--real]
                                one text of 1,000,000 tokens: seconds, memory, resuming after kill -9, recall in each tenth
npm run bench -- kills [COUNT [SEED]]    kill -9 at random moments (default 200) of reading, composing, forgetting, exporting
npm run bench -- damage [CASES [SEED]]    so many damaged stores (default 1,000) open, keep what is sound, and are whole again
npm run bench -- portable [MB]      export and import of a made-up memory: speed and peak memory (default 400 MB)
npm run bench -- scoring --folder FOLDER [--data FOLDER] [--millions 1,10,50] [--threads N] [--json FILE]
                                recall over 1, 10 and 50 million tokens, made from the memory of a folder that was read:
                                time and memory of scoring, slot by slot and by clusters first
npm run bench -- recall [FOLDER...] [--peers] [--tokens N] [--slots 4,8] [--only NAME,...] [--kinds doc,prose,definition]
                                [--divide N] [--seed N] [--json FILE]    questions that repositories ask themselves, by BM25,
                                MiniLM, a symbol index and Longview (--peers: without its model), and of each repository
                                divided into memories of N tokens; needs pip, npm and apt-get
npm run bench -- state [--only NAME,...] [--targets N] [--arms A,B] [--kvm FILE] [--slots TIMES]
                         [--tokens N] [--seed N] [--json FILE]
                                loss of code, doc comments and documentation beside the window alone, passages, gists and the
                                workspace's state, on repositories of the recall benchmark; --kvm: settings laid over the model's;
                                --slots: so many times the slots of gists and state
npm run bench -- convert-memory [GB [q4,q8,f32]]    peak memory of converting a random checkpoint (default 3 GB, q4 and q8)
                                and the time until a cancelled conversion ends; needs Linux and 4 times the space
npm run bench -- answers [--part tuning|report] [--repository NAME] [--limit N] [--recall-only] [--places N] [--passages N]
                         [--order best-last|best-first] [--states workspace|files|none] [--prompt-tokens N] [--max-tokens N]
                         [--data FOLDER] [--json FILE]
                                questions with known places over eight real repositories (135,000 tokens are read once; npm,
                                pip and apt fetch them): recall, citations, words, made-up files; --limit is for each`;

await main(async () => {
  const [command, ...files] = process.argv.slice(2);
  if (command === 'parity') {
    await ensurePackages();
    await compiled();
    const { parity } = await import('./parity.mjs');
    await parity(files.includes('--json'));
    return;
  }
  if (command === 'changed-file' && files.length > 0) {
    await ensureCommandLine();
    await compiled();
    const { dataFolder, findModel } = await import(join(root, 'out/src/models/index.js'));
    const { storeFolder } = await import(join(root, 'out/src/memory/store/index.js'));
    const folder = realpathSync(resolve(process.env.INIT_CWD ?? process.cwd(), files[0]));
    const { changedFile } = await import('./changed-file.mjs');
    const modelFolder = (await findModel(dataFolder())).folder;
    await changedFile({ modelFolder, store: storeFolder(dataFolder(), folder), files: Number(files[1] ?? 300) });
    return;
  }
  if (command === 'events') {
    await ensurePackages();
    await compiled();
    const { events } = await import('./events.mjs');
    await events(Number(files[0] ?? 1000));
    return;
  }
  if (command === 'context') {
    await ensureCommandLine();
    const { context, contextOptions } = await import('./context.mjs');
    const { dataFolder, findModel } = await import(join(root, 'out/src/models/index.js'));
    await context((await findModel(dataFolder())).folder, contextOptions(files));
    return;
  }
  if (command === 'server-delay') {
    await ensureCommandLine();
    await compiled();
    const { serverDelay } = await import('./server-delay.mjs');
    await serverDelay(Number(files[0] ?? 1000));
    return;
  }
  if (command === 'many-files') {
    await ensurePackages();
    await compiled();
    const { manyFiles } = await import('./many-files.mjs');
    await manyFiles(Number(files[0] ?? 100_000));
    return;
  }
  if (command === 'manners') {
    await ensureCommandLine();
    await compiled();
    const { manners } = await import('./manners.mjs');
    const { dataFolder, findModel } = await import(join(root, 'out/src/models/index.js'));
    await manners((await findModel(dataFolder())).folder, Number(files[0] ?? 10));
    return;
  }
  if (command === 'long-document') {
    await ensurePackages();
    await compiled();
    const at = files.indexOf('--tokens');
    const { longDocument } = await import('./long-document.mjs');
    await longDocument(at < 0 ? 1_000_000 : Number(files[at + 1]), files.includes('--real'));
    return;
  }
  if (command === 'kills') {
    await ensurePackages();
    await compiled();
    const { kills } = await import('./kills.mjs');
    await kills(Number(files[0] ?? 200), Number(files[1] ?? 1));
    return;
  }
  if (command === 'damage') {
    await ensurePackages();
    await compiled();
    const { damage } = await import('./damage.mjs');
    await damage(Number(files[0] ?? 1000), Number(files[1] ?? 1));
    return;
  }
  if (command === 'portable') {
    await ensureCommandLine();
    await compiled();
    const { portable } = await import('./portable.mjs');
    await portable(Number(files[0] ?? 400));
    return;
  }
  if (command === 'recall') {
    if (files.includes('--peers')) await ensurePackages();
    else await ensureCommandLine();
    await compiled();
    const { recall } = await import('./recall.mjs');
    await recall(files);
    return;
  }
  if (command === 'scoring') {
    await ensureCommandLine();
    await compiled();
    const { scoring } = await import('./scoring.mjs');
    await scoring(files);
    return;
  }
  if (command === 'convert-memory') {
    await ensureCommandLine();
    const [gigabytes = '3.1', quantisations = 'q4,q8'] = files;
    const { convertMemory } = await import('./convert-memory.mjs');
    await convertMemory(Number(gigabytes), quantisations.split(','));
    return;
  }
  if (command === 'answers') {
    await ensureCommandLine();
    const { answers } = await import('./answers.mjs');
    await answers(files);
    return;
  }
  if (command === 'state') {
    await ensureCommandLine();
    const { state } = await import('./state.mjs');
    await state(files);
    return;
  }
  if (command === 'speed' && files.length > 0) {
    await ensureCommandLine();
    await compiled();
    const { speed, speedOptions } = await import('./speed.mjs');
    const { dataFolder, findModel } = await import(join(root, 'out/src/models/index.js'));
    const options = speedOptions(files);
    await speed((await findModel(dataFolder())).folder, options, process.env.INIT_CWD ?? process.cwd());
    return;
  }
  const tokens = command === 'loss' && files[0] === '--tokens' ? Number(files.splice(0, 2)[1]) : 4096;
  if (!['loss', 'quantisation'].includes(command) || files.length === 0 || !(tokens >= 1024)) {
    process.stderr.write(`${usage}\n`);
    process.exitCode = 2;
    return;
  }
  await ensureCommandLine();
  const from = process.env.INIT_CWD ?? process.cwd();
  const paths = files.map(file => resolve(from, file));
  if (command === 'quantisation') {
    const { quantisation } = await import('./quantisation.mjs');
    await quantisation(...paths);
    return;
  }
  const texts = paths.map(path => readFileSync(path, 'utf8'));
  const { openEngine } = await import(join(root, 'out/src/engine/index.js'));
  const { dataFolder, findModel } = await import(join(root, 'out/src/models/index.js'));
  const model = await findModel(dataFolder());
  const engine = await openEngine(model.folder, { threads: 2 });
  const { loss } = await import('./loss.mjs');
  const { alikeFolder } = await import('./alike-folder.mjs');
  const { folder, remove } = alikeFolder(model.folder);
  try {
    const alike = await openEngine(folder, { threads: 2 });
    await loss(engine, alike, texts, tokens);
    await alike.dispose();
  } finally {
    remove();
  }
  await engine.dispose();
});

/** Compiles what changed; throws what the compiler says. */
async function compiled() {
  const { code, output } = await compile();
  if (code !== 0) throw new SetUpError(output);
}
