/** The steps of the bootstrap that get something: what each is and how it is done stands in a file of its own. */
export { bubblewrapStep } from "./bubblewrap.mjs";
export { packagesDifference, packagesStep } from "./packages.mjs";
export { temporalStep } from "./temporal-step.mjs";
