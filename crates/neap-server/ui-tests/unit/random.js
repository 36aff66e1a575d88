// A small seeded generator, so that a failure comes again.

/** @param {number} seed */
export function generator(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return {
    /** @param {number} below */
    int: (below) => Math.floor(next() * below),
    /** @template T @param {T[]} list @returns {T} */
    pick: (list) => /** @type {T} */ (list[Math.floor(next() * list.length)]),
  };
}

/** Runs a check for many seeds and names the seed that failed. @param {number} runs @param {(random: ReturnType<typeof generator>) => void} check */
export function forSeeds(runs, check) {
  for (let seed = 1; seed <= runs; seed += 1) {
    try {
      check(generator(seed));
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }
}
