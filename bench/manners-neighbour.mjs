// A busy process of the user's own, for `manners.mjs`: like an editor that draws, it works a little in every frame of 16 ms.
// Told to stop, it answers with how late each frame began and how long its work took, in ms.
import { performance } from 'node:perf_hooks';

const FRAME_MS = 16;
const STEPS = 400_000;

const late = [];
const took = [];
let due = performance.now() + FRAME_MS;
let sum = 0;

function frame() {
  const began = performance.now();
  late.push(Math.max(0, began - due));
  for (let i = 0; i < STEPS; i++) sum += Math.sqrt(i);
  const ended = performance.now();
  took.push(ended - began);
  // A frame that was missed is not caught up with.
  due = Math.max(due + FRAME_MS, ended);
  setTimeout(frame, due - ended);
}

setTimeout(frame, FRAME_MS);
process.once('message', () => process.send({ late, took, sum }, () => process.exit(0)));
