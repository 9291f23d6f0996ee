/**
 * The commands, their options and their help, in one place. What a command does is in `commands/`, loaded only when it is
 * the one that runs: help and wrong usage answer at once.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { AskFlags } from './commands/ask.js';
import type { CalibrateFlags } from './commands/calibrate.js';
import type { ExportFlags } from './commands/export.js';
import type { ForgetFlags } from './commands/forget.js';
import type { ConvertFlags } from './commands/model-convert.js';
import type { ReadFlags } from './commands/read.js';
import type { RecallFlags } from './commands/recall.js';
import type { StatusFlags } from './commands/status.js';
import type { SummarizeFlags } from './commands/summarize.js';
import type { Call, GlobalFlags } from './house.js';
import type { ConsentFlags } from './model-consent.js';
import type { Shard } from '../memory/index.js';
import { version } from './version.js';

export function buildProgram(call: Call): Command {
  const program = new Command('longview')
    .description('Reads a folder once, remembers it, and answers with the lines it means. Nothing leaves this machine.')
    .version(version(), '--version')
    .option('--data <folder>', 'where models and memories are kept (default: your data folder)')
    .option('--model <name>', 'an installed model (default: the recommended one)')
    .option('--threads <count>', 'threads of the model (default: by processor cores)', wholeNumber)
    .option('--provider <name>', 'execution provider: auto, cpu, webgpu, cuda, dml or coreml (default: auto)', provider)
    .option('--verbose', 'tell on stderr what is going on')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({ outputError: () => undefined }); // run.ts says it, in one line.

  const ask = program
    .command('ask')
    .description('answer a question about a folder; reads first what is not read yet')
    .argument('<dir>', 'the folder')
    .argument('<question...>', 'the question')
    .option('--now', 'answer from what is read already')
    .option('--max-tokens <count>', 'longest answer, in tokens', wholeNumber);
  withBudgets(ask)
    .option('--json', 'one JSON object on stdout')
    .option('--yes', 'download the model without asking if it is missing')
    .action(async (dir: string, question: string[], _flags, command: Command) => {
      const { runAsk } = await import('./commands/ask.js');
      await runAsk(call, dir, question.join(' '), command.optsWithGlobals<AskFlags>());
    });
  const summarize = program
    .command('summarize')
    .description('what a file, a folder or some lines are about, each sentence with its place')
    .argument('<path>', 'a file or folder')
    .option('--lines <first-last>', 'these lines of the file alone')
    .option('--changes', 'what changed in the folder since the last summary of changes')
    .option('--since <commit>', 'what changed in the folder since a commit')
    .option(
      '--max-sentences <count>',
      'at most so many sentences (default: 8 for a file, 12 for a folder)',
      wholeNumber,
    );
  withBudgets(summarize)
    .option('--json', 'one JSON object on stdout')
    .option('--yes', 'download the model without asking if it is missing')
    .action(async (path: string, _flags, command: Command) => {
      const { runSummarize } = await import('./commands/summarize.js');
      await runSummarize(call, path, command.optsWithGlobals<SummarizeFlags>());
    });
  const read = program
    .command('read')
    .description('read what is new or changed in a folder')
    .argument('<dir>', 'the folder')
    .option('--shard <i/n>', 'only the i-th of n shares of its files, for n machines', shard)
    .option('--cpu-share <percent>', "at most so much of the machine's processor time, by pauses", percent);
  withBudgets(read)
    .option('--json', 'one JSON object on stdout')
    .option('--yes', 'download the model without asking if it is missing')
    .action(async (dir: string, _flags, command: Command) => {
      const { runRead } = await import('./commands/read.js');
      await runRead(call, dir, command.optsWithGlobals<ReadFlags>());
    });
  program
    .command('status')
    .description('what is read of a folder, and how big the memory is')
    .argument('<dir>', 'the folder')
    .option('--files', 'one line for each file, with the reason where it is skipped')
    .option('--json', 'one JSON object on stdout')
    .action(async (dir: string, _flags, command: Command) => {
      const { runStatus } = await import('./commands/status.js');
      await runStatus(call, dir, command.optsWithGlobals<StatusFlags>());
    });
  program
    .command('recall')
    .description('where the name at a place is defined in other files that were read')
    .argument('<file:line:column>', 'a place in a file; line and column count from 1')
    .option('--dir <folder>', 'the folder that was read (default: the repository around the file)')
    .option('--json', 'one JSON object on stdout')
    .action(async (place: string, _flags, command: Command) => {
      const { runRecall } = await import('./commands/recall.js');
      await runRecall(call, place, command.optsWithGlobals<RecallFlags>());
    });
  program
    .command('forget')
    .description('remove a file from the memory of a folder, or all of it')
    .argument('<dir>', 'the folder')
    .argument('[path]', 'the file, relative to the folder')
    .option('--all', 'everything that is remembered of the folder')
    .option('--json', 'one JSON object on stdout')
    .action(async (dir: string, path: string | undefined, _flags, command: Command) => {
      const { runForget } = await import('./commands/forget.js');
      await runForget(call, dir, path, command.optsWithGlobals<ForgetFlags>());
    });
  program
    .command('export')
    .description('write the memory of a folder into one file')
    .argument('<dir>', 'the folder')
    .argument('<file>', 'the file, NAME.longview-memory')
    .option('--force', 'replace a file of that name')
    .option('--json', 'one JSON object on stdout')
    .action(async (dir: string, file: string, _flags, command: Command) => {
      const { runExport } = await import('./commands/export.js');
      await runExport(call, dir, file, command.optsWithGlobals<ExportFlags>());
    });
  program
    .command('import')
    .description('take over memories that were exported, here or elsewhere')
    .argument('<dir>', 'the folder')
    .argument('<file...>', 'the exported files, e.g. one of each shard')
    .option('--json', 'one JSON object on stdout')
    .action(async (dir: string, files: string[], _flags, command: Command) => {
      const { runImport } = await import('./commands/import.js');
      await runImport(call, dir, files, command.optsWithGlobals<GlobalFlags>());
    });
  const mcp = program
    .command('mcp')
    .description('serve the memory to other agents (Model Context Protocol over stdin and stdout)')
    .argument('[dir...]', 'the folders that may be asked about (default: the roots of the client)');
  withBudgets(mcp).action(async (dirs: string[], _flags, command: Command) => {
    const { runMcp } = await import('./commands/mcp.js');
    await runMcp(call, dirs, command.optsWithGlobals<GlobalFlags>());
  });
  program
    .command('calibrate')
    .description('find and fit the recall heads of a model, from commented code')
    .argument('<model>', 'a name of `model list`')
    .argument('[dir...]', 'folders with commented source (default: the sources of Longview)')
    .option('--tokens <count>', 'read at most so many tokens (default: 60,000)', wholeNumber)
    .option('--fresh', 'find heads anew where the model has fitted ones, instead of going on from them')
    .option('--dry-run', 'measure only, change nothing')
    .option('--json', 'one JSON object on stdout')
    .action(async (name: string, folders: string[], _flags, command: Command) => {
      const { runCalibrate } = await import('./commands/calibrate.js');
      await runCalibrate(call, name, folders, command.optsWithGlobals<CalibrateFlags>());
    });
  addModelCommands(program, call);
  return program;
}

function withBudgets(command: Command): Command {
  return command
    .option('--ram <MB>', 'memory that recall may take (default: an eighth of the machine)', wholeNumber)
    .option(
      '--disk <MB>',
      'disk that the memory may take (default: a fifth of what is free, 20,000 at most)',
      wholeNumber,
    )
    .option(
      '--state <tokens>',
      'files of so many tokens make up the workspace state (default: 30,000; 0: none); reading others is faster',
      tokens,
    );
}

function addModelCommands(program: Command, call: Call): void {
  const model = program.command('model').description('the models on this machine').helpCommand(false);
  model
    .command('list')
    .description('what is installed, and what can be added')
    .option('--json', 'one JSON object on stdout')
    .action(async (_flags, command: Command) => {
      const { runModelList } = await import('./commands/model-list.js');
      await runModelList(call, command.optsWithGlobals<GlobalFlags>());
    });
  model
    .command('add')
    .description('download and convert a model of the catalogue')
    .argument('[name]', 'a name of `model list` (default: the recommended model)')
    .option('--yes', 'do not ask before the download')
    .option('--json', 'one JSON object on stdout')
    .action(async (name: string | undefined, _flags, command: Command) => {
      const { runModelAdd } = await import('./commands/model.js');
      await runModelAdd(call, name, command.optsWithGlobals<ConsentFlags>());
    });
  model
    .command('convert')
    .description('make a model of your own checkpoint, from this disk or from the hub')
    .argument('<what>', 'a .gguf or .safetensors file, a folder, or ORG/NAME[@REVISION][/FILE.gguf]')
    .option('--as <name>', 'what to call it (default: by the file or repository)')
    .addOption(new Option('--quant <kind>', 'how weights are kept (default: q4)').choices(['f32', 'f16', 'q8', 'q4']))
    .option('--licence <text>', 'its licence (default: what the hub says)')
    .option('--yes', 'do not ask before a download')
    .option('--json', 'one JSON object on stdout')
    .action(async (what: string, _flags, command: Command) => {
      const { runModelConvert } = await import('./commands/model-convert.js');
      await runModelConvert(call, what, command.optsWithGlobals<ConvertFlags>());
    });
  model
    .command('verify')
    .description('check the files of an installed model, and what it computes')
    .argument('<name>', 'a name of `model list`')
    .option('--json', 'one JSON object on stdout')
    .action(async (name: string, _flags, command: Command) => {
      const { runModelVerify } = await import('./commands/model.js');
      await runModelVerify(call, name, command.optsWithGlobals<GlobalFlags>());
    });
  model
    .command('providers')
    .description('try the execution providers with a model: speed, equal results, where each graph runs')
    .argument('[name]', 'an installed model (default: the recommended one)')
    .option('--json', 'one JSON object on stdout')
    .action(async (name: string | undefined, _flags, command: Command) => {
      const { runModelProviders } = await import('./commands/model-providers.js');
      await runModelProviders(call, name, command.optsWithGlobals<GlobalFlags>());
    });
  model
    .command('remove')
    .description('delete an installed model')
    .argument('<name>', 'a name of `model list`')
    .option('--json', 'one JSON object on stdout')
    .action(async (name: string, _flags, command: Command) => {
      const { runModelRemove } = await import('./commands/model.js');
      await runModelRemove(call, name, command.optsWithGlobals<GlobalFlags>());
    });
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999,999.');
  return Number(text);
}

function tokens(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0 to 999,999,999.');
  return Number(text);
}

function percent(text: string): number {
  if (!/^([1-9]\d?|100)$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 100.');
  return Number(text);
}

/** Those of the engine, which is not loaded for it. */
function provider(text: string): string {
  if (!/^(?:auto|cpu|webgpu|cuda|dml|coreml)$/.test(text))
    throw new InvalidArgumentError('It must be auto, cpu, webgpu, cuda, dml or coreml.');
  return text;
}

function shard(text: string): Shard {
  const [, index, count] = /^([1-9]\d{0,3})\/([1-9]\d{0,3})$/.exec(text)?.map(Number) ?? [];
  if (index === undefined || count === undefined || index > count) {
    throw new InvalidArgumentError('It must be I/N with I from 1 to N and N at most 9,999, e.g. 2/3.');
  }
  return { index, count };
}
