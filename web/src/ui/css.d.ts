/** Styles are collected by the bundler. */
declare module "*.css";
