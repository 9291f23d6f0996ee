/**
 * Recall values for a model from texts that ask for their own functions: reads them, finds the heads that look things up
 * (or goes on from those the model has), fits their values, and measures on files that were held out. Writes nothing.
 */
import { throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import { fitGraphs } from '../convert/index.js';
import { automaticThreads, openCalibration } from '../engine/index.js';
import { DEFAULT_SETTINGS } from '../memory/index.js';
import type { Calibration, RecallCalibration, RecallFigures, RecallSettings } from '../engine/index.js';
import { allKeyHeads, keyHeadPlace, rankHeads, takeHeads } from './choose-heads.js';
import type { Asked, Head } from './choose-heads.js';
import { encodeParameters, parametersFrom, unfitted } from './fit-parameters.js';
import type { FitParameters } from './fit-parameters.js';
import { gatherDocs, inGroups, questionsOf, split } from './gather.js';
import type { SourceDoc } from './gather.js';
import { RecallFit } from './recall-fit.js';
import type { FitGroup } from './recall-fit.js';
import { SharedMemory, withKeyHeads } from './shared-memory.js';
import type { ReadDoc } from './shared-memory.js';
import { measure, train } from './train.js';

export interface CalibrateOptions {
  /** Folders with commented source. */
  readonly folders: readonly string[];
  /** Tokens read at most. */
  readonly tokens: number;
  /** Finds heads anew where the model has fitted ones, instead of going on from them. */
  readonly fresh?: boolean;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

export interface Calibrated {
  readonly settings: RecallSettings & { readonly calibration: RecallCalibration };
  /** Content of `recall.safetensors`. */
  readonly values: Uint8Array;
  readonly files: number;
  readonly tokens: number;
  /** Of the held-out questions with what the model had; undefined where it had no recall heads. */
  readonly installed: RecallFigures | undefined;
  /** Of the held-out questions, before training and after each pass; and which of them is taken. */
  readonly passes: readonly RecallFigures[];
  readonly best: number;
}

/** Tokens of recall slots that share one softmax while it trains: what a repository of that size would hold. */
const GROUP_TOKENS = 16_000;
/** Heads are told apart by this many questions. */
const CHOOSING_QUESTIONS = 64;

/** Throws `usage`, `not-found`, `unsupported`, `bad-format` and `cancelled`. */
export async function calibrate(modelFolder: string, options: CalibrateOptions): Promise<Calibrated> {
  const threads = options.threads ?? automaticThreads();
  const calibration = await openCalibration(modelFolder, { threads, graphs: fitGraphs });
  try {
    return await new Run(calibration, options).all();
  } finally {
    await calibration.dispose();
  }
}

class Run {
  private readTokens = 0;
  private readonly readings = new Map<SourceDoc, ReadDoc>();
  private readonly architecture;

  constructor(
    private readonly calibration: Calibration,
    private readonly options: CalibrateOptions,
  ) {
    this.architecture = calibration.architecture;
  }

  async all(): Promise<Calibrated> {
    const { calibration, options } = this;
    const { folders, tokens, signal, onProgress } = options;
    const docs = await gatherDocs(folders, tokens, text => calibration.countTokens(text), signal);
    const { training, heldOut } = split(docs);
    const groups = inGroups(training, GROUP_TOKENS);
    // Those that measure are looked for among as much text as those that train.
    const [measured = []] = inGroups([...heldOut, ...training], Math.max(GROUP_TOKENS, tokensOf(heldOut)));
    const total = tokensOf(docs);

    const installed = this.installedHeads();
    const goesOn = installed !== undefined && options.fresh !== true;
    const heads = goesOn ? installed : await this.choose(groups[0]!, total);
    const keyHeads = [...new Set([...heads, ...(installed ?? [])].map(head => keyHeadPlace(this.architecture, head)))];
    for (const [doc, reading] of this.readings) this.readings.set(doc, withKeyHeads(reading, keyHeads));
    const fitGroups: FitGroup[] = [];
    for (const group of groups) fitGroups.push(await this.fitGroup(group, group, heads, keyHeads, total));
    const measuring = await this.fitGroup(measured, heldOut, heads, keyHeads, total);

    const size = this.architecture.headSize;
    const fit = this.fitOf(heads, keyHeads);
    const nothing = unfitted(heads.length, size);
    const start = goesOn ? this.installedValues(heads.length) : nothing;
    // What is fitted already is changed less.
    const trained = await train(fit, start, fitGroups, measuring, { signal, onProgress, rate: goesOn ? 3e-4 : 1e-3 });
    const figures: RecallCalibration = {
      questions: questionsOf(training),
      heldOut: questionsOf(heldOut),
      unfitted: goesOn ? await measure(fit, nothing, measuring, signal) : trained.passes[0]!,
      fitted: trained.passes[trained.best]!,
    };
    return {
      settings: { ...calibration.settings, heads, calibration: figures },
      values: encodeParameters(trained.parameters, size),
      files: docs.length,
      tokens: total,
      installed: goesOn ? trained.passes[0] : await this.measureInstalled(installed, measured, heldOut, keyHeads),
      passes: trained.passes,
      best: trained.best,
    };
  }

  private installedHeads(): readonly Head[] | undefined {
    const { heads } = this.calibration.settings;
    return heads.length > 0 && this.calibration.values ? heads : undefined;
  }

  private installedValues(heads: number): FitParameters {
    return parametersFrom(this.calibration.values!, heads, this.architecture.headSize);
  }

  private async measureInstalled(
    installed: readonly Head[] | undefined,
    measured: readonly SourceDoc[],
    heldOut: readonly SourceDoc[],
    keyHeads: readonly number[],
  ): Promise<RecallFigures | undefined> {
    if (!installed) return undefined;
    const group = await this.fitGroup(measured, heldOut, installed, keyHeads, 0);
    const values = this.installedValues(installed.length);
    return measure(this.fitOf(installed, keyHeads), values, group, this.options.signal);
  }

  private fitOf(heads: readonly Head[], keyHeads: readonly number[]): RecallFit {
    const places = heads.map(head => keyHeads.indexOf(keyHeadPlace(this.architecture, head)));
    return new RecallFit(this.calibration, this.architecture.headSize, places);
  }

  /** Heads that look things up in some texts, which are read with all key heads for that. */
  private async choose(docs: readonly SourceDoc[], total: number): Promise<readonly Head[]> {
    const all = allKeyHeads(this.architecture).map((_, place) => place);
    const memory = SharedMemory.of(await this.read(docs, all, total));
    const asked = evenly(askedOf(docs, docs, memory), CHOOSING_QUESTIONS);
    const ranked = await rankHeads(this.calibration, memory, asked, this.options);
    return takeHeads(ranked, memory, asked).map(({ head }) => head);
  }

  /** The texts as read with these key heads, each once. */
  private async read(docs: readonly SourceDoc[], keyHeads: readonly number[], total: number): Promise<ReadDoc[]> {
    const { signal, onProgress } = this.options;
    const all = allKeyHeads(this.architecture);
    const wanted = keyHeads.map(place => all[place]!);
    const read: ReadDoc[] = [];
    for (const doc of docs) {
      const progress = (done: number): void => {
        const part = Math.min(total, this.readTokens + done);
        onProgress?.({ task: 'Reading', done: part, total, unit: 'tokens', item: doc.path });
      };
      let reading = this.readings.get(doc);
      if (!reading) {
        const options = { signal, onProgress: progress };
        const { tokensPerRecallSlot: tokensPerSlot } = DEFAULT_SETTINGS;
        const own = await this.calibration.read(doc.path, doc.text, wanted, tokensPerSlot, options);
        reading = { ...own, functions: doc.functions };
        this.readings.set(doc, reading);
        this.readTokens += doc.tokens;
      }
      read.push(reading);
    }
    return read;
  }

  /** The memory of some texts, and the rows of the questions that those of `asking` ask. */
  private async fitGroup(
    docs: readonly SourceDoc[],
    asking: readonly SourceDoc[],
    heads: readonly Head[],
    keyHeads: readonly number[],
    total: number,
  ): Promise<FitGroup> {
    const { signal, onProgress } = this.options;
    const memory = SharedMemory.of(await this.read(docs, keyHeads, total));
    const asked = askedOf(docs, asking, memory);
    const questions = [];
    for (const [i, { sentence, span }] of asked.entries()) {
      throwIfCancelled(signal);
      onProgress?.({ task: 'Asking', done: i, total: asked.length, unit: 'steps' });
      questions.push({ rows: await this.calibration.rowsOf(sentence, heads), span });
    }
    const nullRows = await this.calibration.rowsOf(this.calibration.settings.contentless, heads);
    return { memory, questions, nullRows };
  }
}

/** What the texts of `asking`, which are among `docs`, ask of a memory of all `docs`. */
function askedOf(docs: readonly SourceDoc[], asking: readonly SourceDoc[], memory: SharedMemory): Asked[] {
  return docs.flatMap((doc, i) =>
    asking.includes(doc)
      ? doc.questions
          .map(question => ({ sentence: question.sentence, span: memory.firstFunction[i]! + question.function }))
          .filter(({ span }) => memory.canBeFound(span))
      : [],
  );
}

function evenly<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)]!);
}

function tokensOf(docs: readonly SourceDoc[]): number {
  return docs.reduce((sum, { tokens }) => sum + tokens, 0);
}
