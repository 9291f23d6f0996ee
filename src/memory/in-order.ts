/** Asynchronous work on a stream of items, some at a time, with the results in the order of the items. */

/** Results of `work` for each item; at most `atOnce` run at a time. Ends with the first failure, once its turn comes. */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  atOnce: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const result = work(item);
    result.catch(() => undefined); // Told when its turn comes, if it comes.
    running.push(result);
    if (running.length >= atOnce) yield await running.shift()!;
  }
  for (const result of running) yield await result;
}
