/* A program that does nothing: what is linked with it must be complete. */
int main(void)
{
    return 0;
}
