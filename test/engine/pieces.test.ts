/** Large messages between the processes: what comes out equals what went in, whatever its shape; no piece is larger than said. */
import assert from 'node:assert/strict';
import {
  ArrivingArrays,
  MOST_PIECE_BYTES,
  sendArrays,
  takeApart,
  type ArraysMessage,
} from '../../src/engine/process/pieces.js';

suite('large messages in pieces', () => {
  test('arrays of all kinds, empty ones too, come out where they were', async () => {
    const value = {
      keys: Int16Array.from({ length: 700_001 }, (_, at) => (at * 31) % 1000),
      scales: [new Float32Array([0.5, -2]), new Float32Array(0), Uint8Array.from({ length: 1_300_000 }, (_, at) => at)],
      more: { slots: 3, text: 'as it is', none: undefined, null: null, places: [new Uint32Array([1, 2 ** 31])] },
      small: new Int8Array(new ArrayBuffer(8), 3, 2).fill(-1),
    };
    const apart = takeApart(value)!;
    const messages: ArraysMessage[] = [];
    await sendArrays(7, apart.arrays, message => Promise.resolve(void messages.push(structuredClone(message))));
    // 1,400,002 + 8 + 1,300,000 + 8 + 2 bytes in pieces of 1,048,576.
    const sizes = messages.flatMap(message => (message.kind === 'piece' ? [message.bytes.byteLength] : []));
    assert.deepEqual(sizes, [MOST_PIECE_BYTES, MOST_PIECE_BYTES, 602_868]);
    const arriving = new ArrivingArrays();
    for (const message of messages) arriving.receive(message);
    assert.deepEqual(arriving.complete(7, structuredClone(apart.value)), value);
  });

  test('what is small crosses whole, and a message without arrays is left as it is', () => {
    const value = { counts: new Float32Array(4), text: 'a' };
    assert.equal(takeApart(value), undefined);
    assert.equal(new ArrivingArrays().complete(1, value), value);
  });
});
