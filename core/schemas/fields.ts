/** Kinds of fields that the parts of an experiment's schema share. */
import { z } from "zod";

export const UNDISCLOSED = "Undisclosed by the paper.";

export const count = (minimum: number) => z.int().min(minimum);
export const share = () => z.number().min(0).max(1);
export const positive = () => z.number().positive();
