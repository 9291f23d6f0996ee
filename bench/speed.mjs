// Tokens per second of reading a prompt and of writing after it, interleaved with llama.cpp in one run.
const lengths = [512, 2048, 8192];
const written = 64;

export async function speed(engine, text) {
  const peer = await llama();
  console.log('prompt tokens | engine | reading tokens/s | writing tokens/s');
  for (const length of lengths) {
    const prompt = await textOf(engine, text, length);
    for (const [name, run] of [['longview', longview(engine)], ...(peer ? [['llama.cpp', peer]] : [])]) {
      const { tokens, readMs, writeMs, count } = await run(prompt);
      const perSecond = (n, ms) => ((1000 * n) / ms).toFixed(1);
      console.log(`${tokens} | ${name} | ${perSecond(tokens, readMs)} | ${perSecond(count, writeMs)}`);
    }
  }
}

/** A start of the text with about `length` tokens; the text is repeated where it is too short. */
async function textOf(engine, text, length) {
  let long = text;
  while ((await engine.countTokens(long)) < length) long += text;
  let end = long.length;
  for (;;) {
    const tokens = await engine.countTokens(long.slice(0, end));
    if (Math.abs(tokens - length) < 16) return long.slice(0, end);
    end = Math.floor((end * length) / tokens);
  }
}

const longview = engine => async prompt => {
  const first = await engine.generate({ messages: [{ role: 'user', content: prompt }], maxTokens: written });
  return {
    tokens: first.promptTokens,
    readMs: first.firstTokenMs,
    writeMs: first.totalMs - first.firstTokenMs,
    count: first.writtenTokens - 1,
  };
};

async function llama() {
  if (!process.env.LLAMA_GGUF) return undefined;
  const { getLlama } = await import(process.env.NODE_LLAMA_CPP ?? 'node-llama-cpp');
  const model = await (await getLlama({ gpu: false, build: 'never' })).loadModel({ modelPath: process.env.LLAMA_GGUF });
  return async prompt => {
    const context = await model.createContext({ contextSize: 8192 + 512, threads: 2, batchSize: 512 });
    const sequence = context.getSequence();
    const tokens = model.tokenize(prompt);
    const start = performance.now();
    let firstMs;
    let count = 0;
    for await (const token of sequence.evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
      firstMs ??= performance.now() - start;
      if (token === undefined || ++count > written) break;
    }
    const writeMs = performance.now() - start - firstMs;
    await context.dispose();
    return { tokens: tokens.length, readMs: firstMs, writeMs, count: count - 1 };
  };
}
